/** The subject of the rolling draft that collects new events. */
export const OPEN = 'open';

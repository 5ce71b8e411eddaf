/** Where the time comes from. Tests move it; nothing else calls `Date.now()`. */
export interface Clock {
  /** The present instant. */
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

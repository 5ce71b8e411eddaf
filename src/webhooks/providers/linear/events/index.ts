import type { EventHandler } from '../../../provider.ts';

/** Linear's events that Tidings knows, by `Linear-Event`. Another one is a file beside these and a line here. */
export const events: Readonly<Record<string, EventHandler>> = {};

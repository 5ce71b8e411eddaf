import type { EventHandler } from '../../../provider.ts';
import { ping } from './ping.ts';

/** GitHub's events that Tidings knows, by `X-GitHub-Event`. Another one is a file beside these and a line here. */
export const events: Readonly<Record<string, EventHandler>> = { ping };

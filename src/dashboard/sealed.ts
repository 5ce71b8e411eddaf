import { WrongSecretKey } from '../lib/secret-box.ts';
import type { DashboardDeps, Visit } from './page.ts';

type Sealing = Pick<DashboardDeps, 'secrets' | 'clock'>;

/** A value that leaves with a page and comes back within `ms`. Only the same `context` opens it. */
export function seal({ secrets, clock }: Sealing, context: string, value: unknown, ms: number): string {
  const until = clock.now().getTime() + ms;
  return secrets.seal(JSON.stringify({ value, until }), context).toString('base64url');
}

/** Null for a text that was not sealed for the context, and after its time. */
export function unseal<Value>({ secrets, clock }: Sealing, context: string, sealed: string): Value | null {
  try {
    const { value, until } = JSON.parse(secrets.open(Buffer.from(sealed, 'base64url'), context));
    return until > clock.now().getTime() ? value : null;
  } catch (error) {
    if (error instanceof WrongSecretKey) return null;
    throw error;
  }
}

/** How long the steps of a sign-in may take, in milliseconds. The cookie lasts as long. */
export const FLOW_MS = 600_000;

/** Room in a cookie beside its name, in characters. */
const MAX_FLOWS_LENGTH = 4_000;

type WithFlows = Pick<Visit, 'deps' | 'flow'>;

const partsOf = ({ flow }: Pick<Visit, 'flow'>) => flow?.slice(0, MAX_FLOWS_LENGTH).split('.') ?? [];

/**
 * The state of a sign-in in several steps, for a cookie: only the browser that began it can go on. Those of other tabs stay in the
 * cookie, as far as it has room.
 */
export function sealFlow(visit: WithFlows, step: string, value: unknown): string {
  const parts = [seal(visit.deps, `flow ${step}`, value, FLOW_MS), ...partsOf(visit)];
  return parts.reduce((all, part) => (all.length + part.length < MAX_FLOWS_LENGTH ? `${all}.${part}` : all));
}

/** The newest state of a step. Null for a browser that is at another one, or at none. */
export const openFlow = <Value>(
  visit: WithFlows,
  step: string,
  isIt: (value: Value) => boolean = () => true,
): Value | null =>
  partsOf(visit)
    .map((part) => unseal<Value>(visit.deps, `flow ${step}`, part))
    .find((value) => value !== null && isIt(value)) ?? null;

/** The cookie without the states of a step that is done. Null: none is left. */
export function endFlow<Value>(
  visit: WithFlows,
  step: string,
  isIt: (value: Value) => boolean = () => true,
): string | null {
  const left = partsOf(visit).filter((part) => {
    const value = unseal<Value>(visit.deps, `flow ${step}`, part);
    return value === null || !isIt(value);
  });
  return left.join('.') || null;
}

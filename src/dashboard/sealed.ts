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

/** The state of a sign-in in several steps, for a cookie: only the browser that began it can go on. */
export const sealFlow = ({ deps }: Pick<Visit, 'deps'>, step: string, value: unknown): string =>
  seal(deps, `flow ${step}`, value, FLOW_MS);

/** Null for a browser that is at another step, or at none. */
export const openFlow = <Value>({ deps, flow }: Pick<Visit, 'deps' | 'flow'>, step: string): Value | null =>
  flow === null ? null : unseal<Value>(deps, `flow ${step}`, flow.slice(0, 4_096));

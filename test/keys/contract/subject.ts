import type { KeyService, NewKey } from '../../../src/people/keys/store.ts';
import type { MovableClock } from '../../support/clock.ts';

/** A key service on a clock that tests move. */
export interface Subject extends Disposable {
  readonly keys: KeyService;
  readonly clock: MovableClock;
}

/** A fresh subject that knows the organizations `org_1` and `org_2`. */
export type Begin = () => Promise<Subject>;

export const MINUTE = 60_000;
export const READ = 'api.read';

export function newKey(fields: Partial<NewKey> = {}): NewKey {
  return { organizationId: 'org_1', name: 'Website', permissions: [READ], expiresAt: null, ...fields };
}

export function later(clock: MovableClock, ms: number): string {
  return new Date(clock.now().getTime() + ms).toISOString();
}

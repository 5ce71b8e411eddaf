import { type Check, withCheck, withCheckedCalls } from '../../db/checked.ts';
import type { ReadTx } from '../../db/engine.ts';
import type { Deps } from '../deps.ts';
import { AccessEnded } from '../lib/app-error.ts';
import type { Organization } from '../organizations/model.ts';
import type { Role } from './model.ts';
import * as store from './store.ts';

// What a session may do. A page decides it when its request begins, and again after each wait: in every transaction that
// writes, and before every call to a provider. A second factor belongs here too, as a property of the session.

/** `SIGNED_OUT` is for the dashboard, which answers a form without a session in its own way. */
export const SIGNED_OUT = 'signed_out';

/** A session, and the role that its person needs in an organization. */
export interface Permission {
  sessionHash: string;
  /** Null: signing in is enough. */
  membership: { organization: Pick<Organization, 'id' | 'name'>; needs: Role } | null;
}

/** `AppError` 404 for somebody who is no member, because another's organization does not exist either, and 403. */
export function requireRole(
  role: Role | null | undefined,
  { organization, needs }: NonNullable<Permission['membership']>,
): void {
  if (role == null) throw new AccessEnded(404, 'Page not found.');
  if (needs === 'member' || role === 'owner') return;
  throw new AccessEnded(403, `Only owners of ${organization.name} can do this. Ask one of them.`);
}

/**
 * Throws `AccessEnded` unless the session is open, its account active, and the person a member with the role. 401 with the
 * code `SIGNED_OUT` without a session.
 */
async function requirePermission(
  tx: ReadTx,
  { sessionHash, membership }: Permission,
  now: Date,
  isWriting: boolean,
): Promise<void> {
  const organizationId = membership?.organization.id ?? null;
  const role = await store.findStanding(tx, { sessionHash, organizationId }, now, isWriting);
  if (role === undefined) {
    throw new AccessEnded(401, 'You are signed out.', { code: SIGNED_OUT });
  }
  if (membership !== null) requireRole(role, membership);
}

/** The services for what this session may do. `onEnd`: called with what refuses it, from then on at each use. */
export function permitted<Given extends Deps>(
  deps: Given,
  permission: Permission,
  onEnd: (refusal: AccessEnded) => void,
): Given {
  const { clock, actor } = deps;
  const check: Check = (tx, isWriting) =>
    requirePermission(tx, permission, clock.now(), isWriting).catch((error: unknown) => {
      if (error instanceof AccessEnded) onEnd(error);
      throw error;
    });
  const db = withCheck(deps.db, check);
  return {
    ...deps,
    db,
    get keys() {
      return deps.keys.as({ actor, db });
    },
    openProviderApi: async (...asked) => withCheckedCalls(await deps.openProviderApi(...asked), db),
  };
}

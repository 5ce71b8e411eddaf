import { type Static, Type } from '@sinclair/typebox';
import { changing, NONE, organization as organizationKey, type WriteTx } from '../../db/engine.ts';
import { AppError, type ChangeOf, changeFor, invalidField } from '../lib/app-error.ts';
import { ID_PATTERN, ID_RULE, type Ids } from '../lib/text.ts';
import type { Clock } from '../lib/time.ts';
import { requireValid } from '../lib/validation.ts';
import { type AuditContext, type AuditDeps, quote, recordAudit } from './audit.ts';
import {
  expiryOf,
  getOrganization,
  insertOrganization,
  listDeletedOrganizations,
  setDeleted,
  updateOrganization,
} from './organization-store.ts';

/** The organization that the demo creates and fills. */
export const DEMO_ORGANIZATION = 'org_demo';

export const Plan = Type.Union([Type.Literal('free'), Type.Literal('pro')]);
export type Plan = Static<typeof Plan>;

export const NewOrganization = Type.Object({
  id: Type.Optional(Type.String({ pattern: ID_PATTERN, errorMessage: ID_RULE })),
  name: Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' }),
  plan: Plan,
});
export type NewOrganization = Static<typeof NewOrganization>;

/** The people who may create an organization in the dashboard. `owners`: of another organization. */
export type OrganizationCreation = 'owners' | 'anyone' | 'nobody';

/** `needsApproval`: publishing needs a second person. */
export type Organization = Required<NewOrganization> & { createdAt: string; needsApproval: boolean };

/** In the trash, until `expiresAt`. Both are ISO 8601. */
export type DeletedOrganization = Organization & { deletedAt: string; expiresAt: string };

/** Throws `AppError` 400 for an invalid field and 409 for an id in use. */
export async function createOrganization(
  deps: AuditDeps & { ids: Ids },
  input: NewOrganization,
): Promise<Organization> {
  const organization = newOrganization(deps, input);
  await deps.db.write((tx) => addOrganization(tx, deps, organization), NONE);
  return organization;
}

export function newOrganization(deps: { clock: Clock; ids: Ids }, input: NewOrganization): Organization {
  const { id, name, plan } = requireValid(NewOrganization, input);
  return {
    id: id ?? deps.ids.newId('org'),
    name: name.trim(),
    plan,
    createdAt: deps.clock.now().toISOString(),
    needsApproval: false,
  };
}

/** Stores and records it, in the caller's transaction. Throws `AppError` 409. */
export async function addOrganization(
  tx: WriteTx,
  deps: AuditContext,
  organization: Organization,
): Promise<void> {
  await insertOrganization(tx, organization);
  const { id, name } = organization;
  const summary = `created the organization ${quote(name)}`;
  const target = { type: 'organization', id };
  await recordAudit(tx, deps, { organizationId: id, action: 'organization.created', target, summary });
}

/** The id is part of URLs and never changes. */
const OrganizationChange = Type.Partial(
  Type.Composite([
    Type.Pick(NewOrganization, ['name', 'plan']),
    Type.Object({ needsApproval: Type.Boolean() }),
  ]),
);

/** `input`: the change, or what makes it of the stored values. Throws `AppError` 400 for an invalid field and 404. */
export async function changeOrganization(
  deps: AuditDeps,
  id: string,
  input: ChangeOf<Organization, { name?: string; plan?: string; needsApproval?: boolean }>,
): Promise<Organization> {
  return deps.db.write(
    async (tx) => {
      const before = await getOrganization(tx, id);
      const { name = before.name, ...rest } = requireValid(OrganizationChange, changeFor(before, input));
      const after = { ...before, ...rest, name: name.trim() };
      const changes: string[] = [];
      if (after.name !== before.name) {
        changes.push(`renamed the organization from ${quote(before.name)} to ${quote(after.name)}`);
      }
      if (after.plan !== before.plan) changes.push(`changed the plan from ${before.plan} to ${after.plan}`);
      if (after.needsApproval !== before.needsApproval) {
        changes.push(`turned approval before publishing ${after.needsApproval ? 'on' : 'off'}`);
      }
      if (changes.length === 0) return before;
      await updateOrganization(tx, after);
      const summary = changes.join(' and ');
      const target = { type: 'organization', id };
      await recordAudit(tx, deps, { organizationId: id, action: 'organization.changed', target, summary });
      return after;
    },
    changing(organizationKey(id)),
  );
}

/** From the next request on, it looks as if it did not exist. `name`: as a person typed it. Throws `AppError` 400 and 404. */
export function deleteOrganization(deps: AuditDeps, id: string, name: string): Promise<DeletedOrganization> {
  return deps.db.write(
    async (tx) => {
      const organization = await getOrganization(tx, id);
      if (name.trim() !== organization.name) {
        throw invalidField('confirm', `must be the name of the organization: ${organization.name}`);
      }
      const deletedAt = deps.clock.now().toISOString();
      await setDeleted(tx, id, deletedAt);
      await recordOrganization(tx, deps, 'organization.deleted', organization);
      return { ...organization, deletedAt, expiresAt: expiryOf(deletedAt) };
    },
    changing(organizationKey(id)),
  );
}

/** `ownerId`: for this person, who must own it. Throws `AppError` 404, which tells others nothing of it. */
export function restoreOrganization(deps: AuditDeps, id: string, ownerId?: string): Promise<Organization> {
  return deps.db.write(
    async (tx) => {
      const [deleted] = await listDeletedOrganizations(tx, deps.clock.now(), { id, ownerId });
      if (deleted === undefined) {
        throw new AppError(404, `Organization ${id} is not in the trash`, {
          code: 'organization_not_in_trash',
          details: { id },
        });
      }
      const { deletedAt: _, expiresAt: __, ...organization } = deleted;
      await setDeleted(tx, id, null);
      await recordOrganization(tx, deps, 'organization.restored', organization);
      return organization;
    },
    changing(organizationKey(id)),
  );
}

async function recordOrganization(
  tx: WriteTx,
  deps: AuditContext,
  action: 'organization.deleted' | 'organization.restored',
  { id: organizationId, name }: Organization,
): Promise<void> {
  const summary = `${action.replace('organization.', '')} the organization ${quote(name)}`;
  const target = { type: 'organization', id: organizationId };
  await recordAudit(tx, deps, { organizationId, action, target, summary });
}

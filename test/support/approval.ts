import { sql } from 'drizzle-orm';
import type { Actor } from '../../src/people/audit.ts';
import { changeOrganization } from '../../src/people/organizations.ts';
import type { Role } from '../../src/people/permission.ts';
import { insertMembership, insertUser } from '../../src/people/store.ts';
import { approvePost, askApproval } from '../../src/posts/approval-requests.ts';
import { findApproval } from '../../src/posts/approval-rule.ts';
import { execute } from './database.ts';
import { appWithOrganization, type TestApp } from './test-app.ts';

// An organization whose publishing needs a second person, and its people.

export interface Team {
  app: TestApp;
  /** The services for a person of the team, by the part of the address before the @. */
  as(name: string): TestApp['deps'];
  ask(name: string, postId: string): Promise<unknown>;
  /** Approves the text that is asked for now. */
  approve(name: string, postId: string, publish?: boolean): Promise<unknown>;
  hashOf(postId: string): Promise<string>;
  setRole(name: string, role: Role | null): Promise<void>;
  /** Adds a person. Default: a publisher, at `NAME@acme.example`. */
  add(name: string, more?: { email?: string; role?: Role }): Promise<void>;
}

/** By default Ann and Bob publish, Wim writes, and Oda owns. */
export async function createTeam(
  roles: Readonly<Record<string, Role>> = { ann: 'member', bob: 'member', wim: 'writer', oda: 'owner' },
  needsApproval = true,
  given?: TestApp,
): Promise<Team> {
  const app = given ?? (await appWithOrganization());
  await changeOrganization(app.deps, 'org_a', { needsApproval });
  const createdAt = app.clock.now().toISOString();
  const emails = new Map<string, string>();
  const actorOf = (name: string): Actor => ({
    type: 'user',
    id: `usr_${name}`,
    name: emails.get(name) ?? null,
    address: null,
  });
  const setRole = async (name: string, role: Role | null) => {
    const userId = `usr_${name}`;
    await execute(app.db, sql`delete from memberships where user_id = ${userId}`);
    if (role === null) return;
    await app.db.write((tx) => insertMembership(tx, { userId, organizationId: 'org_a', role, createdAt }));
  };
  const add: Team['add'] = async (name, { email = `${name}@acme.example`, role = 'member' } = {}) => {
    emails.set(name, email);
    await app.db.write((tx) => insertUser(tx, { id: `usr_${name}`, email, createdAt, passwordHash: null }));
    await setRole(name, role);
  };
  for (const [name, role] of Object.entries(roles)) await add(name, { role });
  const as = (name: string) => ({ ...app.deps, actor: actorOf(name) });
  const hashOf = async (postId: string) => (await app.db.read((tx) => findApproval(tx, postId)))?.hash ?? '';
  return {
    app,
    as,
    hashOf,
    setRole,
    add,
    ask: (name, postId) => askApproval(as(name), postId),
    approve: async (name, postId, publish = false) =>
      approvePost(as(name), postId, { hash: await hashOf(postId), publish }),
  };
}

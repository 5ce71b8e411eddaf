import { inArray } from 'drizzle-orm';
import { dialectOf, type ReadTx } from '../../db/engine.ts';
import { identities } from '../../db/schema/organizations.ts';
import type { postApprovals } from '../../db/schema/posts.ts';
import { type Member, mailboxOf, mayPublish } from '../people/permission.ts';
import { listMembers } from '../people/store.ts';
import { listTexts } from './versions.ts';

// The authors of a text, and who may approve it.

export type Approval = typeof postApprovals.$inferSelect;

/** A person as a version or a request names them. */
interface Person {
  id: string | null;
  email: string | null;
}

const textOf = ({ title, markdown, contentType }: Record<'title' | 'markdown' | 'contentType', string>) =>
  JSON.stringify([title, markdown, contentType]);

/**
 * The people who asked, and those who changed the post since readers last saw it. A text that was there before, and comes back, brings its
 * authors with it.
 */
async function listAuthors(
  tx: ReadTx,
  { postId, change, askedById, askedBy }: Approval,
): Promise<readonly Person[]> {
  type Authors = ReadonlyMap<string, Person>;
  const none: Authors = new Map();
  const authorsOf = new Map<string, Authors>();
  let authors = none;
  for (const version of await listTexts(tx, postId)) {
    const { actorType, actorId: id, actorName: email } = version;
    const author = actorType === 'user' ? [[`${id} ${email}`, { id, email }] as const] : [];
    authors = new Map([...authors, ...(authorsOf.get(textOf(version)) ?? none), ...author]);
    // Others than its authors stand behind it.
    if (version.reached === 'published') authors = none;
    authorsOf.set(textOf(version), authors);
  }
  if (change !== null) authors = authorsOf.get(textOf(change)) ?? none;
  const asker = askedById === null ? [] : [{ id: askedById, email: askedBy }];
  return [...asker, ...authors.values()];
}

/** The members who may approve the text that is asked for: publishers and owners who are none of its authors, by any account. */
export async function listApprovers(tx: ReadTx, approval: Approval): Promise<Member[]> {
  const members = (await listMembers(tx, approval.organizationId)).filter(isApprover);
  const authors = await listAuthors(tx, approval);
  const addresses = await addressesOf(tx, [...authors, ...members]);
  const isKnown = new Set(authors.flatMap(addresses));
  return members.filter((member) => !addresses(member).some((each) => isKnown.has(each)));
}

export const isApprover = ({ role, disabledAt }: Pick<Member, 'role' | 'disabledAt'>) =>
  disabledAt === null && mayPublish(role);

/** All that tells a person: the account, its mailbox, and those of its accounts at the identity provider. */
async function addressesOf(tx: ReadTx, people: readonly Person[]): Promise<(person: Person) => string[]> {
  const ids = people.flatMap(({ id }) => id ?? []);
  const linked = await tx
    .select({ id: identities.userId, name: identities.name })
    .from(identities)
    .where(inArray(identities.userId, dialectOf(tx).listed(ids)))
    .all();
  return ({ id, email }) => {
    const names = linked.filter((identity) => identity.id === id).map(({ name }) => name);
    const mailboxes = [email ?? '', ...names].map(mailboxOf).filter((mailbox) => mailbox !== null);
    return id === null ? mailboxes : [id, ...mailboxes];
  };
}

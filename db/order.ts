import type { WriteOptions } from './engine.ts';

// What writes name, so that only those about the same things wait for each other. PostgreSQL takes all locks of a write at
// its start, in the order of their names and before any row, so writes cannot wait for each other in a circle.

/** The posts of an organization, in every state: what is written about one may change what others decide. */
export const posts = (organizationId: string) => `posts ${organizationId}`;

/** Its members, keys, hooks and settings, and which repositories it has connected. */
export const organization = (id: string) => `organization ${id}`;

/** The integration with its repositories, webhooks, polls, triggers and histories. */
export const integration = (id: string) => `integration ${id}`;

/** The account of a person, with its sessions, links and memberships. */
export const account = (userId: string) => `account ${userId}`;

/** A hook of an organization with its messages. */
export const hook = (id: string) => `hook ${id}`;

/** All limits on guessing. */
export const THROTTLES = 'throttles';

/** Refused sign-ins of each minute and client. */
export const REFUSALS = 'refusals';

/** Accounts that a new one must be compared with: there is a first one. */
export const ACCOUNTS = 'accounts';

/** Messages that the sender of hooks has not seen. */
export const OUTBOX = 'outbox';

/** Work that each statement decides by itself, with a constraint or on one row. */
export const NONE: WriteOptions = { key: [] };

/** Work about posts also fills the outbox of the organization's hooks. */
export const changingPosts = (organizationId: string, ...more: string[]): WriteOptions => ({
  key: [posts(organizationId), ...more],
  shares: [organization(organizationId)],
});

/** Work that changes what each of these names stands for. */
export const changing = (...names: string[]): WriteOptions => ({ key: names });

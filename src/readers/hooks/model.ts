import { type Static, Type } from '@sinclair/typebox';
import { and, asc, eq, ne } from 'drizzle-orm';
import type { ReadTx, WriteTx } from '../../../db/engine.ts';
import { organizations } from '../../../db/schema/organizations.ts';
import { type hookMessages, rebuildHooks } from '../../../db/schema/public.ts';
import { notFound } from '../../lib/app-error.ts';
import type { Ids } from '../../lib/text.ts';
import { isLive, isOfLive } from '../../people/organization-store.ts';

export const hookKinds = ['signed', 'netlify', 'vercel', 'cloudflare', 'slack', 'discord'] as const;
export type HookKind = (typeof hookKinds)[number];

export const hookSubjects = ['posts', 'attention', 'attention-and-server'] as const;
export type HookSubject = (typeof hookSubjects)[number];

/** A build reads all posts, so one request stands for many changes. */
export const isDeploy = (kind: HookKind): boolean => ['netlify', 'vercel', 'cloudflare'].includes(kind);
/** People read these, so they get new posts alone. */
export const isChat = (kind: HookKind): boolean => ['slack', 'discord'].includes(kind);

export const MAX_HOOKS = 20;

export const NewHook = Type.Object({
  organizationId: Type.String(),
  name: Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' }),
  kind: Type.Union(hookKinds.map((kind) => Type.Literal(kind))),
  about: Type.Optional(Type.Union(hookSubjects.map((about) => Type.Literal(about)))),
  url: Type.String({ minLength: 1, maxLength: 2048 }),
});
export type NewHook = Static<typeof NewHook>;

/** How long a deploy hook waits for further changes after one, in milliseconds. */
export const QUIET_MS = 30_000;
/** The longest wait of a deploy hook while changes continue, in milliseconds. */
export const MAX_QUIET_MS = 300_000;

/** Waits between the attempts, in milliseconds: eight attempts over about 24 hours. */
const BACK_OFF_MS = [5_000, 55_000, 240_000, 1_500_000, 5_400_000, 21_600_000, 57_600_000];

/** A message is not retried later than this after its change, in milliseconds. */
export const MAX_AGE_MS = 30 * 3_600_000;

/** The share of a wait that is added at random, so that retries of many messages spread out. */
const JITTER = 0.1;

/** In milliseconds since 1970; null to give it up. A receiver may ask for a longer wait. */
export function nextAttemptAt(
  { attempts, createdAt }: { attempts: number; createdAt: number },
  { now, retryAfterMs }: { now: number; retryAfterMs: number | null },
  random = Math.random(),
): number | null {
  const waitMs = BACK_OFF_MS[attempts - 1];
  if (waitMs === undefined) return null;
  const dueAt = now + Math.max(Math.round(waitMs * (1 + random * JITTER)), retryAfterMs ?? 0);
  return dueAt > createdAt + MAX_AGE_MS ? null : dueAt;
}

type Row = typeof rebuildHooks.$inferSelect;

export type Hook = Omit<Row, 'url' | 'secret' | 'held'>;
export type SealedHook = Row;
export type HookMessage = typeof hookMessages.$inferSelect;

const { id, organizationId, name, kind, about, host, isEnabled, createdAt, held } = rebuildHooks;
const open = { id, organizationId, name, kind, about, host, isEnabled, createdAt };

export async function listHooks(tx: ReadTx, ofOrganization?: string): Promise<Hook[]> {
  const isWanted = ofOrganization === undefined ? undefined : eq(organizationId, ofOrganization);
  return tx
    .select(open)
    .from(rebuildHooks)
    .where(and(isWanted, isOfLive(organizationId)))
    .orderBy(asc(createdAt), asc(id))
    .all();
}

/** Throws `AppError` 404 `hook_not_found`, also for another organization's. */
export async function getHook(tx: ReadTx, hookId: string, ofOrganization?: string): Promise<Hook> {
  const {
    url: _url,
    secret: _secret,
    held: _held,
    ...hook
  } = await getSealedHook(tx, hookId, ofOrganization);
  return hook;
}

/** Throws `AppError` 404 `hook_not_found`, also for another organization's. */
export async function getSealedHook(
  tx: ReadTx,
  hookId: string,
  ofOrganization?: string,
): Promise<SealedHook> {
  const hook = await findSealedHook(tx, hookId);
  const isOwn = ofOrganization === undefined || hook?.organizationId === ofOrganization;
  if (hook === null || !isOwn) throw notFound('hook', hookId);
  return hook;
}

export async function findSealedHook(tx: ReadTx, hookId: string): Promise<SealedHook | null> {
  const isIt = and(eq(id, hookId), isOfLive(organizationId));
  return (await tx.select().from(rebuildHooks).where(isIt).get()) ?? null;
}

export type Listener = Awaited<ReturnType<typeof listListeners>>[number];

/** The enabled hooks that get what needs attention. */
export function listListeners(tx: ReadTx) {
  return tx
    .select({ id, organizationId, about, held, plan: organizations.plan })
    .from(rebuildHooks)
    .innerJoin(organizations, and(eq(organizations.id, organizationId), isLive))
    .where(and(ne(about, 'posts'), eq(isEnabled, true)))
    .all();
}

export const newMessageId = (ids: Ids) => `msg_${ids.newUuid().replaceAll('-', '')}`;

export async function updateHook(
  tx: WriteTx,
  hookId: string,
  changes: Partial<Pick<Row, 'isEnabled' | 'secret' | 'held'>>,
): Promise<void> {
  await tx.update(rebuildHooks).set(changes).where(eq(id, hookId)).run();
}

export const kindWords: Readonly<Record<HookKind, { name: string; does: string; urlHint: string }>> = {
  signed: {
    name: 'Signed request',
    does: 'Posts JSON with a signature when a public post is published, changed, unpublished or deleted.',
    urlHint: 'An https URL of your site or build server.',
  },
  netlify: {
    name: 'Netlify',
    does: 'Starts a build of the site 30 seconds after the last change.',
    urlHint:
      'Create a build hook under Project configuration, Build & deploy. The URL starts with https://api.netlify.com/build_hooks/.',
  },
  vercel: {
    name: 'Vercel',
    does: 'Starts a deployment of the site 30 seconds after the last change.',
    urlHint:
      "Create a deploy hook in the project's settings under Git. The URL starts with https://api.vercel.com/v1/integrations/deploy/.",
  },
  cloudflare: {
    name: 'Cloudflare',
    does: 'Starts a build of Pages or Workers 30 seconds after the last change.',
    urlHint:
      "Create a deploy hook in the project's settings under Builds. The URL starts with https://api.cloudflare.com/client/v4/.",
  },
  slack: {
    name: 'Slack',
    does: 'Announces each new post in a channel, with its title and link.',
    urlHint:
      'Create an incoming webhook for the channel. The URL starts with https://hooks.slack.com/services/.',
  },
  discord: {
    name: 'Discord',
    does: 'Announces each new post in a channel, with its title and link.',
    urlHint:
      "Create a webhook in the channel's settings under Integrations. The URL starts with https://discord.com/api/webhooks/.",
  },
};

export const subjectWords: Readonly<Record<HookSubject, { name: string; does: string }>> = {
  posts: { name: 'Posts', does: 'Follows published changelog posts.' },
  attention: {
    name: 'Attention',
    does: 'Sends a message when something in the organization needs a person, and when it no longer does.',
  },
  'attention-and-server': {
    name: 'Attention, including the server',
    does: 'Sends a message when something in the organization or on the server needs a person, and when it no longer does.',
  },
};

export const describeHook = ({ kind, about }: Pick<Hook, 'kind' | 'about'>): string =>
  about === 'posts' ? kindWords[kind].does : subjectWords[about].does;

export const typeWords: Readonly<Record<HookMessage['type'], string>> = {
  'post.published': 'Published',
  'post.changed': 'Changed',
  'post.unpublished': 'Unpublished',
  'post.deleted': 'Deleted',
  'attention.began': 'Began',
  'attention.ended': 'Ended',
  'attention.summary': 'Held back',
};

export function messageStatus({ state, attempts }: Pick<HookMessage, 'state' | 'attempts'>): string {
  return state === 'queued' && attempts > 0 ? 'retrying' : state;
}

/** `Sent: 204 in 85 ms`, or why it failed. */
export function describeOutcome({
  statusCode,
  durationMs,
  problem,
}: {
  statusCode: number | null;
  durationMs: number;
  problem: string | null;
}): string {
  return problem ?? `Responded ${statusCode} in ${durationMs} ms.`;
}

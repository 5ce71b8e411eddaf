import { eq } from 'drizzle-orm';
import { readIfAllowed } from '../../../db/checked.ts';
import {
  changing,
  hook as hookKey,
  OUTBOX,
  organization,
  type Storage,
  type WriteTx,
} from '../../../db/engine.ts';
import { rebuildHooks } from '../../../db/schema/public.ts';
import { AppError, invalidField } from '../../lib/app-error.ts';
import { isLocal } from '../../lib/public-fetch.ts';
import { DAY_MS } from '../../lib/time.ts';
import { requireValid } from '../../lib/validation.ts';
import {
  type AuditContext,
  type AuditDeps,
  quote,
  recordAudit,
  retentionDaysOf,
} from '../../people/audit.ts';
import type { Deps } from '../../people/deps.ts';
import { getOrganization } from '../../people/organization-store.ts';
import { findPublication, postAddress } from '../public/model.ts';
import {
  acceptMessages,
  countQueued,
  deleteMessages,
  endQueued,
  getMessage,
  listNewMessages,
  mergeFailed,
  requeueMessages,
} from './message-store.ts';
import {
  getHook,
  getSealedHook,
  type Hook,
  isChat,
  isDeploy,
  MAX_HOOKS,
  MAX_QUIET_MS,
  NewHook,
  newMessageId,
  QUIET_MS,
  updateHook,
} from './model.ts';
import { testNotice } from './notices.ts';
import { attempt, type HookConnect, newSigningSecret, type Outcome, urlContextOf } from './request.ts';

type HookDeps = AuditDeps & Pick<Deps, 'ids' | 'secrets' | 'hookPrivateHosts'>;

const MAX_RESENT = 1000;

/** A new hook. `secret`: the signing secret, which nothing shows again; null for kinds without one. */
export interface CreatedHook extends Hook {
  secret: string | null;
}

/** Throws `AppError` 400 with the invalid field, 404, and 409 `too_many_hooks`. */
export async function createHook(deps: HookDeps, input: NewHook): Promise<CreatedHook> {
  const { organizationId, kind, about = 'posts', ...values } = requireValid(NewHook, input);
  if (about !== 'posts' && isDeploy(kind))
    throw invalidField('about', 'must be posts, because this kind of hook starts builds');
  const name = values.name.trim();
  const url = requireHookUrl(values.url.trim(), deps.hookPrivateHosts);
  const id = deps.ids.newId('hook');
  const signing = kind === 'signed' ? newSigningSecret(deps, { id, secret: null }) : null;
  const hook: Hook = {
    id,
    organizationId,
    name,
    kind,
    about,
    host: url.host,
    isEnabled: true,
    createdAt: deps.clock.now().toISOString(),
  };
  const sealedUrl = deps.secrets.seal(url.href, urlContextOf(id)).toString('base64url');
  await deps.db.write(
    async (tx) => {
      await getOrganization(tx, organizationId);
      const others = await tx.$count(rebuildHooks, eq(rebuildHooks.organizationId, organizationId));
      if (others >= MAX_HOOKS) {
        throw new AppError(409, `An organization can have ${MAX_HOOKS} hooks. Delete one first`, {
          code: 'too_many_hooks',
        });
      }
      const sealed = { ...hook, url: sealedUrl, secret: signing?.sealed ?? null, held: null };
      await tx.insert(rebuildHooks).values(sealed).run();
      await record(tx, deps, hook, 'hook.created', `added the hook ${quote(name)} to ${url.host}`);
    },
    changing(organization(organizationId)),
  );
  return { ...hook, secret: signing?.secret ?? null };
}

function requireHookUrl(text: string, privateHosts: ReadonlySet<string> = new Set()): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw invalidField('url', 'must be an https URL, such as https://example.com/hook');
  }
  if (url.username !== '' || url.password !== '') throw invalidField('url', 'must not contain a password');
  const mayBePrivate = privateHosts.has(url.hostname);
  const allow = `To allow this host, set HOOK_PRIVATE_HOSTS=${url.hostname} for the server and for commands`;
  if (url.protocol !== 'https:' && !mayBePrivate) throw invalidField('url', `must be an https URL. ${allow}`);
  if (isLocal(url.href) && !mayBePrivate)
    throw invalidField('url', `must be on the public internet. ${allow}`);
  url.hash = '';
  return url;
}

/** Runs work about a hook in its turn with posts that are announced, and with the sender. Throws `AppError` 404. */
async function writeAbout<Result>(
  db: Storage,
  hookId: string,
  work: (tx: WriteTx) => Promise<Result>,
): Promise<Result> {
  const { organizationId } = await db.read((tx) => getHook(tx, hookId), { single: true });
  return db.write(work, changing(organization(organizationId), hookKey(hookId), OUTBOX));
}

/** Disabling drops what is queued. Throws `AppError` 404. */
export function switchHook(deps: AuditDeps, hookId: string, isEnabled: boolean): Promise<Hook> {
  return writeAbout(deps.db, hookId, async (tx) => {
    const hook = await getHook(tx, hookId);
    if (hook.isEnabled === isEnabled) return hook;
    await switchHookIn(tx, deps, hook, isEnabled);
    return { ...hook, isEnabled };
  });
}

export async function switchHookIn(
  tx: WriteTx,
  deps: AuditContext,
  hook: Hook,
  isEnabled: boolean,
  why = '',
): Promise<void> {
  await updateHook(tx, hook.id, { isEnabled, held: null });
  if (!isEnabled) await endQueued(tx, hook.id, 'failed');
  const verb = isEnabled ? 'enabled' : 'disabled';
  await record(tx, deps, hook, 'hook.changed', `${verb} the hook ${quote(hook.name)}${why}`);
}

/** Its messages are deleted too. Throws `AppError` 404. */
export async function deleteHook(deps: AuditDeps, hookId: string): Promise<void> {
  await writeAbout(deps.db, hookId, async (tx) => {
    const hook = await getHook(tx, hookId);
    await tx.delete(rebuildHooks).where(eq(rebuildHooks.id, hookId)).run();
    await record(tx, deps, hook, 'hook.deleted', `deleted the hook ${quote(hook.name)} to ${hook.host}`);
  });
}

/** The previous secret signs too for 24 hours. Throws `AppError` 404, and 409 `hook_not_signed`. */
export function rotateSecret(deps: HookDeps, hookId: string): Promise<{ hook: Hook; secret: string }> {
  return writeAbout(deps.db, hookId, async (tx) => {
    const { url: _url, held: _held, ...sealed } = await getSealedHook(tx, hookId);
    const { secret: before, ...hook } = sealed;
    if (before === null) {
      throw new AppError(409, 'Only signed hooks have a secret', { code: 'hook_not_signed' });
    }
    const { secret, sealed: after } = newSigningSecret(deps, sealed);
    await updateHook(tx, hookId, { secret: after });
    await record(tx, deps, hook, 'hook.changed', `rotated the secret of the hook ${quote(hook.name)}`);
    return { hook, secret };
  });
}

/** Sends a test message now and returns its outcome, also for a disabled hook. Throws `AppError` 404. */
export async function sendTest(
  deps: Pick<Deps, 'db' | 'clock' | 'ids' | 'secrets' | 'hookPrivateHosts' | 'publicUrl'>,
  hookId: string,
  connect: HookConnect = {},
): Promise<Outcome> {
  const hook = await readIfAllowed(deps.db, (tx) => getSealedHook(tx, hookId));
  const now = deps.clock.now().toISOString();
  const title = 'Test message from Tidings';
  return attempt(
    deps,
    hook,
    {
      id: newMessageId(deps.ids),
      type: 'hook.test',
      organizationId: hook.organizationId,
      postId: null,
      title,
      postCreatedAt: now,
      createdAt: now,
      url: null,
      notice: hook.about === 'posts' ? null : testNotice(deps, hook, title),
    },
    connect,
  );
}

/** Sends a message again. Throws `AppError` 404, and 409 `hook_disabled`. */
export function resendMessage(
  deps: Pick<Deps, 'db' | 'clock'>,
  hookId: string,
  messageId: string,
): Promise<number> {
  return writeAbout(deps.db, hookId, async (tx) => {
    requireEnabled(await getHook(tx, hookId));
    await getMessage(tx, hookId, messageId);
    return requeueMessages(tx, hookId, { id: messageId }, deps.clock.now().getTime());
  });
}

/** The oldest first; one for all to a deploy hook. Throws `AppError` 404, and 409 `hook_disabled`. */
export function resendFailed(deps: Pick<Deps, 'db' | 'clock'>, hookId: string): Promise<number> {
  return writeAbout(deps.db, hookId, async (tx) => {
    const hook = await getHook(tx, hookId);
    requireEnabled(hook);
    const now = deps.clock.now().getTime();
    if (!isDeploy(hook.kind)) return requeueMessages(tx, hookId, { failedUpTo: MAX_RESENT }, now);
    const id = await mergeFailed(tx, hookId);
    return id === null ? 0 : requeueMessages(tx, hookId, { id }, now);
  });
}

function requireEnabled({ isEnabled }: Hook): void {
  if (isEnabled) return;
  throw new AppError(409, 'The hook is disabled. Enable it first', { code: 'hook_disabled' });
}

function record(
  tx: WriteTx,
  deps: AuditContext,
  { id, organizationId }: Hook,
  action: 'hook.created' | 'hook.changed' | 'hook.deleted',
  summary: string,
) {
  return recordAudit(tx, deps, { organizationId, action, target: { type: 'hook', id }, summary });
}

type NewMessage = Awaited<ReturnType<typeof listNewMessages>>[number];

/** Messages of one transaction, so that other work hardly waits for it. */
const BATCH = 100;

/** A post with an older date is no news for a channel: it was imported. */
const NEWS_MS = 2 * DAY_MS;

/** A channel gets no more new posts than this at a time. */
const MAX_CHAT_QUEUE = 10;

export type Bursts = Map<string, number>;

/** Accepts messages that SQL triggers have queued, in one transaction. Returns whether there may be more. */
export async function acceptNew(
  { db, clock, publicUrl }: Pick<Deps, 'db' | 'clock' | 'publicUrl'>,
  bursts: Bursts,
): Promise<boolean> {
  const now = clock.now().getTime();
  const accepted = await db.write(async (tx) => {
    const messages = (await listNewMessages(tx, BATCH)).sort((a, b) => a.number - b.number);
    for (const [hookId, own] of Map.groupBy(messages, (each) => each.hookId)) {
      const [first] = own;
      if (first === undefined) continue;
      const { kind, plan, isEnabled, organizationId } = first;
      const publication = await findPublication(tx, organizationId);
      const common = {
        page: publication?.isPageOn === true ? postAddress(publication, publicUrl(), '') : null,
        createdAt: new Date(now).toISOString(),
        expiresAt: now + retentionDaysOf[plan] * DAY_MS,
      };
      const accept = (some: readonly NewMessage[], state: 'queued' | 'merged' | 'failed', dueAt = now) =>
        acceptMessages(tx, idsOf(some), { ...common, state, dueAt });
      // Switched off between the change and now.
      if (!isEnabled) await accept(own, 'failed');
      else if (isDeploy(kind)) {
        // Without a queued build the burst is over: it was sent, or the hook was disabled.
        const isInBurst = (await countQueued(tx, hookId)) > 0;
        await endQueued(tx, hookId, 'merged');
        await accept(own.slice(0, -1), 'merged');
        const since = (isInBurst ? bursts.get(hookId) : undefined) ?? now;
        bursts.set(hookId, since);
        await accept(own.slice(-1), 'queued', Math.min(now + QUIET_MS, since + MAX_QUIET_MS));
      } else if (isChat(kind)) {
        const gone = own.filter(({ type }) => type === 'post.unpublished' || type === 'post.deleted');
        // Nobody needs to hear of a post that is no longer public.
        if (gone.length > 0)
          await endQueued(tx, hookId, 'merged', [...new Set(gone.map(({ postId }) => postId))]);
        const isGone = ({ postId, number }: NewMessage) =>
          gone.some((each) => each.postId === postId && each.number > number);
        const news = own.filter((each) => isNews(each, now) && !isGone(each));
        await deleteMessages(tx, idsOf(own.filter((each) => !news.includes(each))));
        const room = Math.max(MAX_CHAT_QUEUE - (await countQueued(tx, hookId)), 0);
        await accept(news.slice(0, room), 'queued');
        await accept(news.slice(room), 'merged');
      } else await accept(own, 'queued');
    }
    return messages.length;
  }, changing(OUTBOX));
  return accepted === BATCH;
}

const idsOf = (messages: readonly NewMessage[]) => messages.map(({ id }) => id);

const isNews = ({ type, postCreatedAt }: NewMessage, now: number) =>
  type === 'post.published' && Date.parse(postCreatedAt) > now - NEWS_MS;

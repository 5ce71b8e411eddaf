import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { Notice } from '../../../db/schema/public.ts';
import { messageOf } from '../../lib/app-error.ts';
import { type PublicConnectOptions, postPublic, RefusedDownload } from '../../lib/public-fetch.ts';
import { WrongSecretKey } from '../../lib/secret-box.ts';
import { cutLine } from '../../lib/text.ts';
import { DAY_MS, formatInZone, span } from '../../lib/time.ts';
import type { Deps } from '../../people/deps.ts';
import type { HookKind, HookMessage, SealedHook } from './model.ts';

// The request of each kind of hook. Bodies depend on the message alone, so that all attempts send the same bytes.

export interface Announcement
  extends Pick<
    HookMessage,
    'id' | 'organizationId' | 'title' | 'postCreatedAt' | 'url' | 'createdAt' | 'notice'
  > {
  type: HookMessage['type'] | 'hook.test';
  /** Null for a test. */
  postId: string | null;
}

const MAX_CHAT_TITLE = 300;
/** Discord takes 2,000 characters in all, and escapes double them at worst. */
const MAX_CHAT_LINE = 200;

const json = { 'content-type': 'application/json' };

function requestOf(
  kind: HookKind,
  announcement: Announcement,
): { body: string; headers: Record<string, string> } {
  switch (kind) {
    case 'signed':
      return { body: payloadOf(announcement), headers: json };
    case 'netlify':
      return { body: '{}', headers: json };
    case 'vercel':
    case 'cloudflare':
      return { body: '', headers: {} };
    case 'slack':
      return { body: JSON.stringify({ text: slackText(announcement) }), headers: json };
    case 'discord':
      return {
        body: JSON.stringify({ content: discordText(announcement), allowed_mentions: { parse: [] } }),
        headers: json,
      };
  }
}

function payloadOf(announcement: Announcement) {
  const { type, createdAt, organizationId, postId, title, postCreatedAt, url, notice } = announcement;
  const ofPost =
    type === 'hook.test'
      ? { organizationId, title }
      : { organizationId, postId, title, createdAt: postCreatedAt, url };
  const data = notice ?? ofPost;
  return JSON.stringify({ type, timestamp: createdAt, data });
}

/** Slack reads `<!channel>`, `<@id>` and `<url|label>`; these three characters are all that it takes. */
function slackText({ title, url, createdAt, notice }: Announcement): string {
  const escaped = (text: string) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const linked = (address: string | null, text: string) => {
    const label = escaped(cutLine(text, MAX_CHAT_TITLE));
    return address === null ? label : `<${escaped(address).replaceAll('|', '%7C')}|${label}>`;
  };
  if (notice === null) return linked(url, title);
  const heading = `*${headings[notice.state]}:* ${linked(notice.link, notice.message)}`;
  return [heading, ...linesOf(notice, createdAt).map(escaped)].join('\n');
}

/** `allowed_mentions` keeps every mention from notifying anybody; the escapes keep the title from becoming markup. */
function discordText({ title, url, createdAt, notice }: Announcement): string {
  const escaped = (text: string) => text.replaceAll(/[\\*_~`|<>#[\]():@-]/g, '\\$&');
  const label = escaped(cutLine(title, MAX_CHAT_TITLE));
  if (notice === null) return url === null ? `**${label}**` : `**${label}**\n${url}`;
  const heading = `**${headings[notice.state]}:** ${escaped(cutLine(notice.message, MAX_CHAT_TITLE))}`;
  return [heading, ...linesOf(notice, createdAt).map(escaped), `<${notice.link}>`].join('\n');
}

const headings: Readonly<Record<Notice['state'], string>> = {
  began: 'Needs attention',
  ended: 'No longer needs attention',
  summary: 'Messages held back',
};

/** The lines about an item that a channel reads below its message. */
function linesOf(notice: Notice, createdAt: string | null): string[] {
  const { state, since, count, effect, action, heldBack } = notice;
  const from = formatInZone(since, 'UTC');
  const times = count > 1 ? `, ${count.toLocaleString('en')} times` : '';
  const lastedMs = Date.parse(createdAt ?? since) - Date.parse(since);
  const lines = {
    began: [`${effect} Since ${from}${times}.`, `What to do: ${action}`],
    ended: [`It lasted ${lastedMs < 60_000 ? 'less than a minute' : span(lastedMs)}, since ${from}.`],
    summary: [`Since ${from}. ${effect}`],
  };
  const { began, ended } = heldBack;
  const held =
    state === 'summary' || began + ended === 0
      ? []
      : [`Held back since the message before: ${began} began and ${ended} ended.`];
  return [...lines[state], ...held].map((line) => cutLine(line, MAX_CHAT_LINE));
}

// Signatures by https://www.standardwebhooks.com, and the secrets for them.

const SECRET_BYTES = 32;

/** How long the previous secret signs too after a rotation, in milliseconds. */
const OVERLAP_MS = DAY_MS;

interface Secrets {
  current: string;
  previous: { secret: string; until: number } | null;
}

const contextOf = (hookId: string) => `secret of rebuild hook ${hookId}`;

/** A new signing secret, and its sealed form with the one before it. */
export function newSigningSecret(
  deps: Pick<Deps, 'secrets' | 'clock'>,
  hook: Pick<SealedHook, 'id' | 'secret'>,
): { secret: string; sealed: string } {
  const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
  const before = openedOrNull(deps, hook);
  const until = deps.clock.now().getTime() + OVERLAP_MS;
  const secrets: Secrets = {
    current: secret,
    previous: before === null ? null : { secret: before.current, until },
  };
  const sealed = deps.secrets.seal(JSON.stringify(secrets), contextOf(hook.id)).toString('base64url');
  return { secret, sealed };
}

/** Null also after the secret key was lost: a rotation must work then. */
function openedOrNull(
  deps: Pick<Deps, 'secrets'>,
  { id, secret }: Pick<SealedHook, 'id' | 'secret'>,
): Secrets | null {
  try {
    return secret === null ? null : openSecrets(deps, id, secret);
  } catch (error) {
    if (error instanceof WrongSecretKey) return null;
    throw error;
  }
}

/** The secrets to sign with now, the current one first. Throws `WrongSecretKey`. */
function signingSecrets(
  deps: Pick<Deps, 'secrets' | 'clock'>,
  { id, secret }: Pick<SealedHook, 'id' | 'secret'>,
): string[] {
  if (secret === null) return [];
  const { current, previous } = openSecrets(deps, id, secret);
  const isValid = previous !== null && previous.until > deps.clock.now().getTime();
  return isValid ? [current, previous.secret] : [current];
}

function openSecrets({ secrets }: Pick<Deps, 'secrets'>, id: string, sealed: string): Secrets {
  return JSON.parse(secrets.open(Buffer.from(sealed, 'base64url'), contextOf(id)));
}

function signatureHeaders(
  secrets: readonly string[],
  { id, body, now }: { id: string; body: string; now: Date },
): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, now, body)).join(' '),
  };
}

const TIMEOUT_MS = 15_000;
const MAX_RESPONSE_BYTES = 1024;
const MAX_PROBLEM_LENGTH = 300;

/** `resolve` and `isAllowed` are for tests. */
export type HookConnect = Pick<PublicConnectOptions, 'resolve' | 'isAllowed'> & { timeoutMs?: number };

export type AttemptDeps = Pick<Deps, 'secrets' | 'clock' | 'hookPrivateHosts'>;

export interface Outcome {
  startedAt: string;
  durationMs: number;
  statusCode: number | null;
  /** Null: the receiver took it. */
  problem: string | null;
  response: string | null;
  /** How long the receiver asked to wait. */
  retryAfterMs: number | null;
}

export const urlContextOf = (hookId: string) => `URL of rebuild hook ${hookId}`;

/** Sends one request. Rejects only when `signal` ends it. */
export async function attempt(
  deps: AttemptDeps,
  hook: SealedHook,
  announcement: Announcement,
  { timeoutMs = TIMEOUT_MS, ...connect }: HookConnect = {},
  signal?: AbortSignal,
): Promise<Outcome> {
  const now = deps.clock.now();
  const began = performance.now();
  const done = (rest: Partial<Outcome>): Outcome => ({
    startedAt: now.toISOString(),
    durationMs: Math.round(performance.now() - began),
    statusCode: null,
    problem: null,
    response: null,
    retryAfterMs: null,
    ...rest,
  });
  try {
    const { body, headers } = requestOf(hook.kind, announcement);
    const secrets = signingSecrets(deps, hook);
    const signed = secrets.length === 0 ? {} : signatureHeaders(secrets, { id: announcement.id, body, now });
    const url = deps.secrets.open(Buffer.from(hook.url, 'base64url'), urlContextOf(hook.id));
    const {
      status,
      headers: found,
      text,
    } = await postPublic(
      url,
      { body, headers: { ...headers, ...signed } },
      {
        ...connect,
        timeoutMs,
        signal,
        maxBytes: MAX_RESPONSE_BYTES,
        plainHosts: deps.hookPrivateHosts,
        privateHosts: deps.hookPrivateHosts,
      },
    );
    return done({
      statusCode: status,
      problem: problemOf(status),
      response: text.toWellFormed(),
      retryAfterMs: status === 429 || status === 503 ? readRetryAfter(found['retry-after'], now) : null,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    return done({ problem: describe(error).slice(0, MAX_PROBLEM_LENGTH).toWellFormed() });
  }
}

function problemOf(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return `Responded ${status}. Tidings follows no redirects.`;
  return `Responded ${status}.`;
}

function describe(error: unknown): string {
  if (error instanceof WrongSecretKey) return "The URL can't be decrypted. Delete the hook and add it again.";
  const text = messageOf(error);
  const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`;
  const isPrivate = error instanceof RefusedDownload;
  return isPrivate
    ? `${sentence} To allow this host, set HOOK_PRIVATE_HOSTS for the server and for commands.`
    : sentence;
}

/** Seconds, or a date. */
function readRetryAfter(value: string | undefined, now: Date): number | null {
  if (value === undefined) return null;
  const ms = /^\d{1,9}(?:\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now.getTime();
  return Number.isFinite(ms) && ms > 0 ? ms : null;
}

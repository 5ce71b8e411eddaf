import type { Deps } from '../deps.ts';
import { messageOf } from '../lib/app-error.ts';
import { type PublicConnectOptions, postPublic, RefusedDownload } from '../lib/public-fetch.ts';
import { WrongSecretKey } from '../lib/secret-box.ts';
import { type Announcement, requestOf } from './request.ts';
import { signatureHeaders, signingSecrets } from './signature.ts';
import type { SealedHook } from './store.ts';

const TIMEOUT_MS = 15_000;
const MAX_RESPONSE_BYTES = 1024;
const MAX_PROBLEM_LENGTH = 300;

/** `resolve` and `isAllowed` are for tests. */
export type HookConnect = Pick<PublicConnectOptions, 'resolve' | 'isAllowed'> & { timeoutMs?: number };

export type AttemptDeps = Pick<Deps, 'secrets' | 'clock' | 'hookPrivateHosts'>;

/** The result of one request. */
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
  return isPrivate ? `${sentence} To allow this host, set HOOK_PRIVATE_HOSTS.` : sentence;
}

/** Seconds, or a date. */
function readRetryAfter(value: string | undefined, now: Date): number | null {
  if (value === undefined) return null;
  const ms = /^\d{1,9}(?:\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now.getTime();
  return Number.isFinite(ms) && ms > 0 ? ms : null;
}

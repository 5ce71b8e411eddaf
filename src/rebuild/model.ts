import { type Static, Type } from '@sinclair/typebox';
import type { Hook, HookMessage } from './store.ts';

export type { HookAttempt } from './message-store.ts';
export type { Hook, HookMessage };

export const hookKinds = ['signed', 'netlify', 'vercel', 'cloudflare', 'slack', 'discord'] as const;
export type HookKind = (typeof hookKinds)[number];

/** A build reads all posts, so one request stands for many changes. */
const deployKinds: readonly HookKind[] = ['netlify', 'vercel', 'cloudflare'];
/** People read these, so they get new posts alone. */
const chatKinds: readonly HookKind[] = ['slack', 'discord'];

export const isDeploy = (kind: HookKind): boolean => deployKinds.includes(kind);
export const isChat = (kind: HookKind): boolean => chatKinds.includes(kind);

/** For each organization. */
export const MAX_HOOKS = 20;

export const NewHook = Type.Object({
  organizationId: Type.String(),
  name: Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' }),
  kind: Type.Union(hookKinds.map((kind) => Type.Literal(kind))),
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

/**
 * When to try a message again after `attempts` failures, in milliseconds since 1970; null to give it up. A receiver may
 * ask for a longer wait.
 */
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

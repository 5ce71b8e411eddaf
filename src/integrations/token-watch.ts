import { NONE } from '../../db/engine.ts';
import { DAY_MS, HOUR_MS } from '../lib/time.ts';
import type { Deps } from '../people/deps.ts';
import type { ProviderApi } from '../providers/api.ts';
import { listHooks } from './hook-store.ts';
import { findApi, listDueTokens, saveTokenState, type TokenState, withSignal } from './token.ts';
import { isProblem } from './words.ts';

// Asks providers about the tokens that people gave Tidings: a person has to replace one that expires or is refused.

/** How many tokens one run asks about. */
const MAX_DUE = 4;

/** The wait after a failure that says nothing about the token, and after a refusal, in milliseconds. */
const FAILED_MS = HOUR_MS;
const REFUSED_MS = 600_000;

/** Asks about the tokens that are due. `signal` ends it early. */
export async function watchTokens(given: Deps, signal?: AbortSignal): Promise<void> {
  const { db, clock } = given;
  const deps = withSignal(given, signal);
  const due = await db.read((tx) => listDueTokens(tx, clock.now(), MAX_DUE));
  for (const each of due) {
    const api = await findApi(deps, each);
    const last = each.state ?? { integrationId: each.id, expiresAt: null, problem: null, problemSince: null };
    const next = await ask(deps, api, last);
    if (signal?.aborted) return;
    await db.write((tx) => saveTokenState(tx, next), NONE);
  }
}

async function ask(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  api: ProviderApi | null,
  last: Omit<TokenState, 'dueAt'>,
): Promise<TokenState> {
  const now = clock.now().getTime();
  // A token that cannot be decrypted is a problem of the key, which the doctor names.
  if (api === null) return { ...last, dueAt: now + DAY_MS };
  try {
    const expiresAt = await expiryOf(db, api, last.integrationId);
    const end = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
    const dueAt = Math.min(now + DAY_MS, Math.max(end, now + REFUSED_MS));
    return { ...last, expiresAt, problem: null, problemSince: null, dueAt };
  } catch (error) {
    if (isProblem(error, 'bad-token')) {
      const problemSince = last.problemSince ?? clock.now().toISOString();
      return { ...last, problem: error.message, problemSince, dueAt: now + REFUSED_MS };
    }
    if (!isProblem(error)) throw error;
    return { ...last, dueAt: Math.max(now + FAILED_MS, error.retryAt?.getTime() ?? 0) };
  }
}

async function expiryOf(db: Deps['db'], api: ProviderApi, id: string): Promise<string | null> {
  if (api.getExpiry !== undefined) return api.getExpiry();
  // Any request tells whether the provider still takes the token.
  const [hook] = await db.read((tx) => listHooks(tx, id));
  if (hook?.remoteId != null) await api.findHook(hook.placeId, hook.remoteId);
  return null;
}

import { findPing } from '../deliveries/log-store.ts';
import type { Deps } from '../deps.ts';
import { type Hook, type ProviderApi, ProviderProblem } from '../providers/api.ts';
import { sayAnswer } from './say-answer.ts';

/** How long a ping may take to arrive, in milliseconds, before the provider is asked what became of it. */
const ARRIVES_WITHIN_MS = 8_000;
const LOOK_EVERY_MS = 50;
/** The provider lists an attempt a moment after it was made. */
const ASK_EVERY_MS = 1_000;

/**
 * Asks for a ping and waits until one that came after `since` is in the log; a new hook may send one by itself.
 * Returns true when it arrived, false when that is not known yet, and null for a provider without pings. Throws `ProviderProblem` `unreachable-url` when the provider says that it was not taken.
 */
export async function pingAndWait(
  { db }: Pick<Deps, 'db'>,
  api: ProviderApi,
  hook: Hook,
  url: string,
  since: Date,
  arrivesWithinMs = ARRIVES_WITHIN_MS,
): Promise<boolean | null> {
  const { placeId, remoteId, integrationId, repositoryId } = hook;
  if (api.pingHook === undefined || remoteId === null) return null;
  await api.pingHook(placeId, remoteId);

  const startedAt = performance.now();
  let askedAt = startedAt;
  for (;;) {
    if ((await findPing(db, integrationId, repositoryId, since)) !== null) return true;
    const elapsed = performance.now() - startedAt;
    const isOver = elapsed > arrivesWithinMs;
    if (isOver || performance.now() - askedAt > ASK_EVERY_MS) {
      askedAt = performance.now();
      await requireNotRefused(api, hook, url, since);
    }
    if (isOver) return false;
    await Bun.sleep(LOOK_EVERY_MS);
  }
}

/** Throws when the provider's last attempt at a ping came to nothing. */
async function requireNotRefused(api: ProviderApi, hook: Hook, url: string, since: Date): Promise<void> {
  const { placeId, remoteId } = hook;
  if (api.listAttempts === undefined || remoteId === null) return;
  // Clocks differ: what was delivered a minute before may be meant.
  const { attempts } = await api.listAttempts(placeId, remoteId, new Date(since.getTime() - 60_000));
  const ping = attempts.find(({ event }) => event === 'ping');
  if (ping === undefined || (ping.statusCode !== null && ping.statusCode < 300)) return;
  const said = sayAnswer(ping.statusCode, ping.status);
  throw new ProviderProblem(
    'unreachable-url',
    `The provider's ping to ${url} did not arrive: ${said}. Check that the server runs, that PUBLIC_URL (${new URL(url).origin}) is its address on the internet, and that nothing before it answers in its place`,
  );
}

import { changing, integration as integrationKey, NONE } from '../../db/order.ts';
import type { Deps } from '../deps.ts';
import { getIntegration, type Integration } from '../integrations/store.ts';
import { openReaderOf } from '../integrations/token.ts';
import { ProviderProblem } from '../providers/api.ts';
import { providerOf } from '../providers/index.ts';
import type { RepositoryReader, RequestBudget } from '../providers/reader.ts';
import { findTrigger } from '../triggers/store.ts';
import { readPage } from './pages.ts';
import { type Reading, settle } from './record.ts';
import { claimHistory, findHistory, type History, listDueHistories, updateHistory } from './store.ts';

// Reads the releases of a repository, newest first. Where some have no notes, it then reads the pull requests that they
// consist of. Reading pauses and goes on, in any process, until it ends.

/** Longer than a request may take, in milliseconds: how long other processes leave a history alone. */
const CLAIM_MS = 60_000;

/** How long to wait after the provider failed, in milliseconds; the last one repeats. */
const BACK_OFF_MS = [2_000, 10_000, 60_000, 600_000];

/** A history has failed after so many failures in a row. */
const MAX_ATTEMPTS = 20;

/** Pages of one history before the next organization has its turn. Each turn asks for the repository again. */
const PAGES_OF_TURN = 10;

/** Histories of one pass. Those that were requested meanwhile are in the next one. */
const BATCH = 10;

/** Reads the histories that are due, in turns, until none is. */
export async function readDueHistories(deps: Deps, signal?: AbortSignal): Promise<void> {
  while (!signal?.aborted) {
    const due = await deps.db.read((tx) => listDueHistories(tx, deps.clock.now(), BATCH));
    if (due.length === 0) return;
    for (const { id } of due) {
      if (signal?.aborted) return;
      await readHistory(deps, id, { signal, maxPages: PAGES_OF_TURN });
    }
  }
}

/**
 * Reads a history until it ends, has to wait, `signal` is aborted, or `maxPages` were read. Does nothing while another
 * process reads it. Calls `onPage` after each page.
 */
export async function readHistory(
  deps: Deps,
  id: string,
  {
    signal,
    onPage,
    maxPages = Number.POSITIVE_INFINITY,
  }: {
    signal?: AbortSignal | undefined;
    onPage?: (history: History) => void;
    maxPages?: number;
  } = {},
): Promise<void> {
  const { db, clock } = deps;
  const claim = () => {
    const now = clock.now();
    return db.write((tx) => claimHistory(tx, id, now, now.getTime() + CLAIM_MS), NONE);
  };
  let history = await claim();
  let reader: RepositoryReader | null = null;
  let reading: Reading | null = null;
  let pages = 0;
  try {
    while (history !== null && !signal?.aborted && pages++ < maxPages) {
      if (reading === null) {
        const parts = await findParts(deps, history);
        if (parts === null) return;
        reader = await openReaderOf(deps, parts.integration, signal);
        reading = { ...parts, reader, remote: await findRemote(reader, parts.repository) };
      }
      await readPage(deps, reading, history);
      history = await db.read((tx) => findHistory(tx, id));
      if (history !== null) onPage?.(history);
      history = await claim();
    }
  } catch (error) {
    if (!(error instanceof ProviderProblem)) throw error;
    if (!signal?.aborted && history !== null) return pause(deps, history, error, reader);
  }
  // Stopped, or at the end of its turn: another process may go on at once.
  if (history !== null) {
    await db.write((tx) => updateHistory(tx, id, { dueAt: clock.now().getTime() }), NONE);
  }
}

/** Null when the trigger of the history was deleted: the history has failed. */
async function findParts(deps: Deps, history: History): Promise<Omit<Reading, 'reader' | 'remote'> | null> {
  const { integration, trigger } = await deps.db.read(async (tx) => ({
    integration: await getIntegration(tx, history.integrationId),
    trigger: await findTrigger(tx, history.triggerId),
  }));
  const repository = integration.repositories.find((each) => each.id === history.repositoryId);
  if (repository === undefined || trigger === null) {
    await end(deps, history, 'The trigger of this import was deleted. Start the import again.');
    return null;
  }
  return { integration, repository, trigger };
}

async function findRemote(reader: RepositoryReader, { fullName, providerId }: Reading['repository']) {
  const remote = await reader.getRepository(fullName);
  if (providerId === null || providerId === remote.providerId) return remote;
  throw new ProviderProblem(
    'refused',
    `${fullName} is another repository now. Disconnect it, then connect it again.`,
  );
}

/** Records why reading waits and until when, or why it failed. Posts of what was read need not wait. */
async function pause(
  deps: Deps,
  history: History,
  problem: ProviderProblem,
  reader: RepositoryReader | null,
): Promise<void> {
  const { kind, message, retryAt } = problem;
  const now = deps.clock.now().getTime();
  const attempts = kind === 'rate-limited' ? history.attempts : history.attempts + 1;
  const isOver = kind !== 'rate-limited' && (kind !== 'provider-failed' || attempts >= MAX_ATTEMPTS);
  if (isOver) return end(deps, history, message);
  const waitMs = BACK_OFF_MS[Math.min(attempts, BACK_OFF_MS.length) - 1] ?? CLAIM_MS;
  const dueAt = Math.max(retryAt?.getTime() ?? now + waitMs, now + 1_000);
  await deps.db.write(
    async (tx) => {
      const integration = await getIntegration(tx, history.integrationId);
      const sentence = describePause(problem, integration, reader?.budget ?? null);
      if (await updateHistory(tx, history.id, { problem: sentence, dueAt, attempts })) {
        await settle(tx, deps, integration, history);
      }
    },
    changing(integrationKey(history.integrationId)),
  );
}

/** Ends a history that failed. */
async function end(deps: Deps, history: History, problem: string): Promise<void> {
  await deps.db.write(
    async (tx) => {
      const endedAt = deps.clock.now().toISOString();
      if (await updateHistory(tx, history.id, { status: 'failed', problem, endedAt })) {
        await settle(tx, deps, await getIntegration(tx, history.integrationId), history, { isOver: true });
      }
    },
    changing(integrationKey(history.integrationId)),
  );
}

/** Why reading waits. Whoever shows it adds until when. */
function describePause(
  { kind, message }: ProviderProblem,
  { type, hasToken }: Integration,
  budget: RequestBudget | null,
): string {
  if (kind !== 'rate-limited') return message;
  const { name, reader } = providerOf(type);
  const perHour = budget?.limit ?? reader?.anonymousPerHour ?? null;
  if (budget?.remaining !== 0 || perHour === null) return `${name} asks Tidings to slow down.`;
  const limit = `${name} allows ${perHour.toLocaleString('en')} requests an hour`;
  return hasToken ? `${limit} with this token.` : `${limit} without a token.`;
}

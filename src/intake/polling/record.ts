import { changing, integration, type WriteTx } from '../../../db/engine.ts';
import { isNews } from '../../drafting/events.ts';
import { handOver, readHandOver } from '../../drafting/triggers/hand-over.ts';
import { imageOwner } from '../../drafting/triggers/material.ts';
import { listDeliveries } from '../../integrations/deliveries/log-store.ts';
import { findAddress, insertDelivery, isTaken, newEntry } from '../../integrations/deliveries/store.ts';
import {
  deletePoll,
  findPoll,
  listPolls,
  type Poll,
  type PollChanges,
  type PollCursor,
  updatePoll,
} from '../../integrations/poll-store.ts';
import {
  getIntegration,
  type Integration,
  learnRepository,
  updateIntegration,
} from '../../integrations/store.ts';
import { recordChange } from '../../integrations/words.ts';
import type { AuditContext } from '../../people/audit.ts';
import type { Deps } from '../../people/deps.ts';
import type { Event } from '../../providers/events.ts';
import { asEdit, type News, type Round } from './round.ts';

/** Records how an integration gets its events from now on. */
export function recordSwitch(
  tx: WriteTx,
  deps: AuditContext,
  integration: Integration,
  to: 'polling' | 'webhooks',
): Promise<number> {
  const did = to === 'polling' ? 'started polling for' : 'replaced polling by webhooks for';
  return recordChange(tx, deps, integration, 'integration.switched', did);
}

export type Address = NonNullable<Awaited<ReturnType<typeof findAddress>>>;

/** News of one commit, which other work about the integration waits for. */
const PART = 25;

/**
 * Logs the news of a round, hands them to the triggers, and remembers what was seen. Each part first compares the
 * cursor, and the last one moves it: after a process ends, the next round reads all news again and skips those that are
 * logged. `isLast`: a webhook has taken over, so polling ends. Resolves to the number of news, or to null when another
 * process polled the repository meanwhile, or it is no longer polled.
 */
export async function recordRound(
  deps: Needs,
  poll: Poll,
  round: Round,
  changes: PollChanges & Pick<Poll, 'cursor'>,
  { isLast, durationMs }: { isLast: boolean; durationMs: number },
): Promise<number | null> {
  const { repositoryId } = poll;
  const parts = partsOf(round.news);
  let { cursor } = poll;
  let count = 0;
  for (const [index, news] of parts.entries()) {
    const isEnd = index === parts.length - 1;
    // Nothing reads the mark: it ends the round of another process that began at the same cursor.
    const next: PollCursor = { ...cursor, recorded: index + 1 };
    const before = cursor;
    const recorded = await deps.db.write(
      async (tx) => {
        const address = await findPresent(tx, poll, before);
        if (address === null) return null;
        if (index === 0) await learn(tx, address, repositoryId, round);
        let taken = 0;
        for (const each of news)
          if (await takeNews(tx, deps, address, repositoryId, each, durationMs)) taken++;
        if (!isEnd) await updatePoll(tx, repositoryId, { cursor: next });
        else await endRound(tx, deps, address, poll, round, { changes, isLast, durationMs });
        return taken;
      },
      changing(integration(poll.integrationId)),
    );
    if (recorded === null) return null;
    count += recorded;
    cursor = next;
  }
  return count;
}

type Needs = Pick<Deps, 'db' | 'clock' | 'ids' | 'media' | 'log' | 'actor'>;

/** At least one. The pushes stay together at the end: a branch that has moved on would be read as other pushes. */
function partsOf(news: readonly News[]): News[][] {
  if (news.length <= PART) return [[...news]];
  const isPush = ({ event }: News) => event.type === 'push';
  const ordered = [...news.filter((each) => !isPush(each)), ...news.filter(isPush)];
  const parts: News[][] = [];
  // Whole parts from the end, so that up to a part of pushes shares the commit that moves the cursor.
  for (let end = ordered.length; end > 0; end -= PART)
    parts.unshift(ordered.slice(Math.max(0, end - PART), end));
  return parts;
}

/** Null when another process polled the repository meanwhile, or the integration is disabled or gone. */
async function findPresent(
  tx: WriteTx,
  { integrationId, repositoryId }: Poll,
  cursor: Poll['cursor'],
): Promise<Address | null> {
  const present = await findPoll(tx, repositoryId);
  const address = await findAddress(tx, integrationId, repositoryId);
  if (address === null || !Bun.deepEquals(present?.cursor, cursor)) return null;
  return address.integration.enabled ? address : null;
}

async function learn(tx: WriteTx, { repository }: Address, repositoryId: string, { remote }: Round) {
  const { providerId, fullName } = remote;
  if (repository?.providerId === providerId && repository.fullName === fullName) return;
  await learnRepository(tx, repositoryId, { providerId, fullName });
}

/** Logs the notes and moves the cursor, or ends polling. */
async function endRound(
  tx: WriteTx,
  deps: Needs,
  address: Address,
  { integrationId, repositoryId }: Poll,
  { remote, notes }: Round,
  { changes, isLast, durationMs }: { changes: PollChanges; isLast: boolean; durationMs: number },
): Promise<void> {
  for (const note of notes) {
    const entry = polledEntry(deps, address, repositoryId, durationMs);
    const title = `Polling ${remote.fullName}`;
    await insertDelivery(tx, { ...entry, status: 'ignored', title, reason: note }, deps.clock.now());
  }
  if (!isLast) return updatePoll(tx, repositoryId, changes);
  await deletePoll(tx, repositoryId);
  if ((await listPolls(tx, integrationId)).length > 0) return;
  const integration = await getIntegration(tx, integrationId);
  await updateIntegration(tx, integrationId, { isPolled: false });
  await recordSwitch(tx, deps, integration, 'webhooks');
}

/** False for an event that a webhook delivered, or that an interrupted round recorded. */
async function takeNews(
  tx: WriteTx,
  deps: Pick<Deps, 'clock' | 'ids' | 'media'>,
  address: Address,
  repositoryId: string,
  given: News,
  durationMs: number,
): Promise<boolean> {
  const { id: integrationId, type } = address.integration;
  const now = deps.clock.now();
  const source = { integrationId, repositoryId };
  let news = given;
  const known = await readHandOver(tx, source, news.event);
  const { previous } = known;
  if (previous !== null && (await wasTaken(tx, address, previous, given.action))) {
    // Webhooks deliver a merge once: what changes after it is no news.
    if (news.event.type === 'pull_request' || !isNews(news.event, previous)) return false;
    if (news.event.type === 'release') news = asEdit({ reader: { type }, repositoryId, now }, news);
  }
  const { event, action } = news;
  if (previous !== null && !isNews(event, previous) && (await wasTaken(tx, address, event, action)))
    return false;
  await logNews(tx, deps, address, repositoryId, news, known, durationMs);
  return true;
}

/** Logs what was read as if it had been delivered, and hands it to the triggers. `known` was read in this transaction. */
export async function logNews(
  tx: WriteTx,
  deps: Pick<Deps, 'clock' | 'ids' | 'media'>,
  address: Address,
  repositoryId: string | null,
  { event, name, title, action, data }: News,
  known: Awaited<ReturnType<typeof readHandOver>>,
  durationMs: number,
): Promise<void> {
  const now = deps.clock.now();
  const entry = polledEntry(deps, address, repositoryId, durationMs);
  const source = { integrationId: address.integration.id, repositoryId };
  await handOver(tx, { ...source, action, images: imageOwner(deps, entry) }, entry, event, known, now);
  const payload = { event: name, action, data };
  await insertDelivery(tx, { ...entry, referenceId: event.deliveryId, title, payload }, now);
}

/**
 * True when the log has the delivery of this version, with this action. Also history stores events, and the edit of
 * a release may arrive without its publication; neither lets a trigger make a post.
 */
export async function wasTaken(
  tx: WriteTx,
  address: Address,
  { deliveryId }: Event,
  action: string,
): Promise<boolean> {
  const { id: integrationId, organizationId } = address.integration;
  const filter = { integrationId, anyId: deliveryId };
  const entries = await listDeliveries(tx, organizationId, filter, { limit: MAX_ENTRIES });
  return entries.some(({ status, payload }) => isTaken(status) && payload.action === action);
}

/** How many entries of one delivery id to look at. */
const MAX_ENTRIES = 20;

function polledEntry(
  { ids, clock }: Pick<Deps, 'ids' | 'clock'>,
  { integration }: Address,
  repositoryId: string | null,
  durationMs: number,
) {
  const entry = newEntry(ids, integration, repositoryId, clock.now());
  return { ...entry, title: '', status: 'processed' as const, reason: null, isPolled: true, durationMs };
}

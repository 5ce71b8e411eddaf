import type { WriteTx } from '../../db/engine.ts';
import { retentionDaysOf } from '../audit/model.ts';
import { listDeliveries } from '../deliveries/log-store.ts';
import { isTaken } from '../deliveries/model.ts';
import { findAddress, insertDelivery, type NewDelivery } from '../deliveries/store.ts';
import type { Deps } from '../deps.ts';
import type { Event } from '../events/model.ts';
import { isNews } from '../events/store.ts';
import {
  deletePoll,
  findPoll,
  listPolls,
  type Poll,
  type PollChanges,
  updatePoll,
} from '../integrations/poll-store.ts';
import { getIntegration, learnRepository, updateIntegration } from '../integrations/store.ts';
import { handOver, readHandOver } from '../triggers/hand-over.ts';
import { imageOwner } from '../triggers/images.ts';
import { recordSwitch } from './audit.ts';
import { asEdit, type News, type Round } from './round.ts';

type Address = NonNullable<Awaited<ReturnType<typeof findAddress>>>;

/**
 * Logs the news of a round, hands them to the triggers, and remembers what was seen, in one transaction: a process that
 * ends leaves all of it or nothing. `isLast`: a webhook has taken over, so polling ends. Resolves to the number of news,
 * or to null when another process polled the repository meanwhile, or it is no longer polled.
 */
export function recordRound(
  deps: Pick<Deps, 'db' | 'clock' | 'ids' | 'media' | 'log' | 'actor'>,
  poll: Poll,
  { remote, news, notes }: Round,
  changes: PollChanges & Pick<Poll, 'cursor'>,
  { isLast, durationMs }: { isLast: boolean; durationMs: number },
): Promise<number | null> {
  const { repositoryId, integrationId } = poll;
  return deps.db.write(async (tx) => {
    const present = await findPoll(tx, repositoryId);
    const address = await findAddress(tx, integrationId, repositoryId);
    if (address === null || !Bun.deepEquals(present?.cursor, poll.cursor)) return null;
    if (!address.integration.enabled) return null;
    const { providerId, fullName } = remote;
    if (address.repository?.providerId !== providerId || address.repository.fullName !== fullName) {
      await learnRepository(tx, repositoryId, { providerId, fullName });
    }
    let count = 0;
    for (const each of news) {
      if (await takeNews(tx, deps, address, repositoryId, each, durationMs)) count++;
    }
    const now = deps.clock.now();
    for (const note of notes) {
      const entry = entryOf(deps, address, repositoryId, durationMs);
      const title = `Polling ${fullName}`;
      await insertDelivery(tx, { ...entry, status: 'ignored', title, reason: note }, now);
    }
    if (!isLast) {
      await updatePoll(tx, repositoryId, changes);
      return count;
    }
    await deletePoll(tx, repositoryId);
    if ((await listPolls(tx, integrationId)).length === 0) {
      const integration = await getIntegration(tx, integrationId);
      await updateIntegration(tx, integrationId, { isPolled: false });
      await recordSwitch(tx, deps, integration, 'webhooks');
    }
    return count;
  });
}

/** False for what a webhook delivered before. */
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
  const { event, name, title, action, data } = news;
  const entry = entryOf(deps, address, repositoryId, durationMs);
  const images = imageOwner(deps, entry);
  await handOver(tx, { ...source, action, images }, entry, event, known, now);
  const payload = { event: name, action, data };
  await insertDelivery(tx, { ...entry, referenceId: event.deliveryId, title, payload }, now);
  return true;
}

/**
 * True when the log has the delivery of the stored version, with this action. Also history stores events, and the edit of
 * a release may arrive without its publication; neither lets a trigger make a post.
 */
async function wasTaken(
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

function entryOf(
  { ids, clock }: Pick<Deps, 'ids' | 'clock'>,
  { integration }: Address,
  repositoryId: string,
  durationMs: number,
): NewDelivery & { status: 'processed' } {
  return {
    id: ids.newId('dlv'),
    organizationId: integration.organizationId,
    integrationId: integration.id,
    integrationType: integration.type,
    repositoryId,
    title: '',
    status: 'processed',
    statusCode: 200,
    referenceId: null,
    payload: { event: null, action: null, data: null },
    headers: null,
    reason: null,
    count: 1,
    bodyHash: null,
    sameBodyAs: null,
    replayOf: null,
    isPolled: true,
    durationMs,
    retentionDays: retentionDaysOf[integration.plan],
    createdAt: clock.now().toISOString(),
  };
}

import type { Static } from '@sinclair/typebox';
import { changing, integration as integrationKey, organization, type WriteTx } from '../../../db/engine.ts';
import { isNews } from '../../drafting/events.ts';
import { handOver, readHandOver } from '../../drafting/triggers/hand-over.ts';
import { imageOwner } from '../../drafting/triggers/material.ts';
import { UploadError } from '../../http/request.ts';
import { applyChange } from '../../integrations/app.ts';
import { findRepositoryId } from '../../integrations/app-store.ts';
import {
  claimDelivery,
  claimedTitle,
  DUPLICATE_REASON,
  findAddress,
  HEARTBEAT_REASON,
  insertClaimed,
  insertDelivery,
  newEntry,
  POLLED_ID,
  POLLED_REASON,
  type WebhookReceived,
} from '../../integrations/deliveries/store.ts';
import { isHeartbeat } from '../../integrations/hook-store.ts';
import { acceptedSecrets, learnRepository } from '../../integrations/store.ts';
import type { Repository, RepositoryIdentity } from '../../integrations/words.ts';
import { AppError } from '../../lib/app-error.ts';
import { BoundedMap } from '../../lib/bounded-map.ts';
import { cutLine, isId } from '../../lib/text.ts';
import { turns } from '../../lib/time.ts';
import type { Deps } from '../../people/deps.ts';
import type { InstallationChange } from '../../providers/app.ts';
import type { Event } from '../../providers/events.ts';
import {
  type DeliveryHeaders,
  type EventResult,
  eventOf,
  ignored,
  MalformedPayload,
  type Payload,
  type Provider,
  parseEvent,
  requireFresh,
  SAMPLE_REPOSITORY_ID,
} from '../../providers/provider.ts';
import { type OpenEntry, Refusal, recordFailure, refusals } from './refusals.ts';
import { createSignatureDoctor } from './signature-doctor.ts';

/** One HTTP request to the receiver. */
export interface Arrival {
  path: { provider: unknown; organizationId: unknown; integrationId: unknown; repositoryId: unknown };
  headers: Headers;
  /** True when the declared length is over the limit. */
  isTooLarge: boolean;
  /** The raw bytes. Throws `UploadError`. */
  readBody(): Promise<Uint8Array>;
}

/** The body of the response to a delivery that was taken (section 4.4 of the spec). */
type Received = Static<typeof WebhookReceived>;

export type ReceiverDeps = Pick<
  Deps,
  'db' | 'clock' | 'elapsed' | 'ids' | 'secrets' | 'log' | 'metrics' | 'media'
>;

/**
 * A delivery waits this long while another process writes. It and the log of its failure share the total, counted from
 * the end of the upload, in milliseconds. Providers give up after 5 s.
 */
const DELIVERY_WAIT_MS = 3_000;
const TOTAL_WAIT_MS = 3_500;

/** How many addresses to keep. */
const MAX_KEPT = 1_000;

/** The address that a delivery was checked against is not, or may not be, the present one. */
class AddressChanged extends Error {}

/** The tag of a release was edited, so its drafts get another name, and no run may write them meanwhile. */
class TagChanged extends Error {}

/**
 * The webhook receiver: verify, read the event, record it, respond. Resolves when the delivery is on the disk. Throws
 * `AppError` for a delivery that is refused and the error of one that fails; both are logged by then, once the
 * integration is known.
 */
export function createReceiver(deps: ReceiverDeps, providers: readonly Provider[]) {
  const { clock, metrics } = deps;
  const diagnose = createSignatureDoctor(deps);
  /** By path, addresses of verified deliveries, which save the next ones a round trip: its transaction compares them. */
  const kept = new BoundedMap<string, Address>(MAX_KEPT);

  return async function receive(arrival: Arrival): Promise<Received> {
    const arrivedAt = clock.now();
    const startedAt = performance.now();
    const upload = readOnce(arrival);
    for (;;) {
      const key = Object.values(arrival.path).join('/');
      const address = kept.get(key) ?? (await findPresentAddress(deps, providers, key, arrival));
      const entry = newEntry(deps.ids, address.row.integration, address.repositoryId, arrivedAt);
      try {
        return await take(arrival, address, entry, upload, startedAt);
      } catch (error) {
        const cause = asRefusal(error);
        // Start again with the present address, which also decides about a refusal.
        if (error instanceof AddressChanged || (address.isKept && cause instanceof Refusal)) {
          kept.delete(address.key);
          continue;
        }
        const now = performance.now();
        entry.durationMs = Math.round(now - startedAt);
        await recordFailure(deps, entry, cause, Math.max((upload.endedAt ?? now) + TOTAL_WAIT_MS - now, 0));
        throw cause;
      }
    }
  };

  /** One try with an address. Throws `AddressChanged` when that is not the present one. */
  async function take(
    arrival: Arrival,
    address: Address,
    entry: OpenEntry,
    upload: Upload,
    startedAt: number,
  ): Promise<Received> {
    const { provider, row } = address;
    const { integration } = row;
    if (arrival.isTooLarge) throw new Refusal(refusals.too_large);
    if (!integration.enabled) throw new Refusal(refusals.disabled);
    requireRepository(address);
    const headers = provider.readHeaders(arrival.headers);
    if ('missing' in headers) throw new Refusal(refusals.missingHeader(provider, headers.missing));
    entry.referenceId = headers.deliveryId;
    entry.payload.event = headers.event;
    const body = await upload.read();
    const { signature } = headers;
    const turn = turns();
    const isSigned = (secret: string) => provider.isSigned(body, signature, secret);
    if (!acceptedSecrets(deps, integration).some(isSigned)) {
      if (address.isKept) throw new AddressChanged();
      const finding = await diagnose({ provider, integration, signature, body });
      throw new Refusal(refusals.wrongSignature(provider, finding));
    }
    entry.headers = keptHeaders(provider, arrival.headers);
    // For a body of 25 MB, the signature, the hash and the text take a tenth of a second together.
    await turn();
    entry.bodyHash = Buffer.from(Bun.SHA256.hash(body) as Uint8Array);
    if (headers.signedAt) requireFresh('the signed time', headers.signedAt.getTime(), clock.now());
    await turn();
    const payload = await provider.readPayload(body, arrival.headers.get('content-type'), clock.now());
    const named = provider.repositoryOf(payload);
    const read = await readEvent(deps, address, headers.event, payload);
    entry.repositoryId = read.address.repositoryId;
    const learned = requireSameRepository(provider, read.address.repository, named);

    const now = performance.now();
    entry.durationMs = Math.round(now - startedAt);
    const giveUpMs = Math.max((upload.endedAt ?? now) + DELIVERY_WAIT_MS - now, 0);
    const { outcome, reason } = await record(read, entry, headers, learned, giveUpMs);
    if (learned === null && read.change === null) kept.set(address.key, { ...address, isKept: true });
    else kept.delete(address.key);
    metrics.deliveries(provider.id, outcome).value++;
    metrics.failedDeliveries.inARow = 0;
    if (outcome === 'duplicate') return { received: true, message: `Duplicate delivery: ${reason}` };
    return responseTo(read.result, { event: headers.event, delivery: headers.deliveryId }, named);
  }

  /** Claims the delivery, logs it and hands its event to the triggers, in one transaction. */
  async function record(
    { address, result, change }: ReadEvent,
    entry: OpenEntry,
    { event: name, deliveryId }: DeliveryHeaders,
    learned: RepositoryIdentity | null,
    giveUpMs: number,
  ) {
    const { provider, row, repository, named: repositoryNamed } = address;
    const now = clock.now();
    const { integrationId, repositoryId } = entry;
    const images = imageOwner(deps, entry);
    const { action = null, data = null } = result.outcome === 'processed' ? result.processed : {};
    const fullName = learned?.fullName ?? repository?.fullName ?? null;
    const source = { deliveryId, receivedAt: entry.createdAt, repository: fullName };
    const event =
      action === null || data === null ? null : eventOf(provider, { ...source, event: name, action, data });
    const changesIt = learned !== null || change !== null;
    const work = async (tx: WriteTx, isAlone: boolean) => {
      // Sent together: one round trip.
      const [present, claim, known] = await Promise.all([
        findAddress(tx, integrationId, repositoryNamed),
        claimDelivery(tx, entry, deps.elapsed.nowMs()),
        event === null ? null : readHandOver(tx, { integrationId, repositoryId }, event),
      ]);
      if (!Bun.deepEquals(present, row, true)) throw new AddressChanged();
      if (claim === 'duplicate') {
        const [title, isRequested] = await Promise.all([
          claimedTitle(tx, entry),
          isHeartbeat(tx, entry, now),
        ]);
        const reason = isRequested ? HEARTBEAT_REASON : DUPLICATE_REASON;
        await insertDelivery(tx, { ...entry, status: 'duplicate', title: title ?? name, reason }, now);
        return { outcome: 'duplicate', reason } as const;
      }
      const previous = known?.previous ?? null;
      if (!isAlone && event !== null && previous !== null && previous.key !== event.key)
        throw new TagChanged();
      if (repository !== null && learned !== null) await learnRepository(tx, repository.id, learned);
      if (change !== null) await applyChange(tx, deps, row.integration, change);
      if (action !== null && event !== null && known !== null)
        await handOver(tx, { integrationId, repositoryId, action, images }, entry, event, known, now);
      const logged = {
        ...entry,
        ...statusOf(result, event, previous),
        title: result.title,
        // A test delivery, which some providers send as one of their events, is found by this name.
        payload: { event: result.outcome === 'ping' ? 'ping' : name, action, data },
      };
      await insertClaimed(tx, logged, now);
      return { outcome: logged.status, reason: logged.reason };
    };
    // The versions of one event keep their order. What is learned of a repository may concern all of its deliveries.
    const subject = event === null ? deliveryId : `${repositoryId ?? ''} ${event.type} ${event.key}`;
    const order = { key: `delivery ${integrationId} ${subject}`, shares: [integrationKey(integrationId)] };
    const alone = changing(integrationKey(integrationId), organization(entry.organizationId));
    if (!changesIt) {
      try {
        return await deps.db.write((tx) => work(tx, false), { ...order, giveUpMs });
      } catch (error) {
        if (!(error instanceof TagChanged)) throw error;
      }
    }
    return deps.db.write((tx) => work(tx, true), { ...alone, giveUpMs });
  }
}

/** `previous`: the stored version of the event. */
function statusOf(result: EventResult, event: Event | null, previous: Event | null) {
  if (result.outcome === 'ignored') return { status: 'ignored', reason: result.reason } as const;
  const isPolled = previous?.deliveryId.startsWith(POLLED_ID) === true;
  // A webhook names the files of a push, and polling does not: that alone makes it no other push.
  const isSame =
    event !== null && previous !== null && (event.type !== 'release' || !isNews(event, previous));
  return isPolled && isSame
    ? ({ status: 'duplicate', reason: POLLED_REASON } as const)
    : ({ status: 'processed', reason: null } as const);
}

/** The body of a delivery, read at the first call. `endedAt`: by `performance.now()`; absent before. */
interface Upload {
  read(): Promise<Uint8Array>;
  endedAt?: number;
}

function readOnce({ readBody }: Arrival): Upload {
  let reading: Promise<Uint8Array> | undefined;
  const upload: Upload = { read: () => (reading ??= readBody().finally(end)) };
  const end = () => Object.assign(upload, { endedAt: performance.now() });
  return upload;
}

type Address = Awaited<ReturnType<typeof findPresentAddress>>;

/** Finds the integration, and with it a log to write to. */
async function findPresentAddress(
  { db }: ReceiverDeps,
  providers: readonly Provider[],
  key: string,
  { path, isTooLarge }: Arrival,
) {
  const isApp = providers.some(({ app }) => app?.path === path.provider);
  const provider = providers.find(({ id, app }) => (isApp ? app?.path : id) === path.provider);
  const { organizationId, integrationId } = path;
  // A provider without repositories takes "-" or nothing as the last segment.
  const segment =
    path.repositoryId === '-' && provider?.hasRepositories === false ? undefined : path.repositoryId;
  const refuse = (status: number, message: string) =>
    isTooLarge ? new AppError(413, 'Payload too large') : new AppError(status, message);
  if (
    provider === undefined ||
    !isId(organizationId) ||
    !isId(integrationId) ||
    // An App's payloads name the repository.
    (segment === undefined ? provider.hasRepositories && !isApp : isApp || !isId(segment))
  ) {
    throw refuse(400, 'Invalid webhook parameters');
  }
  const repositoryId = isId(segment) ? segment : null;
  const named = provider.hasRepositories ? repositoryId : null;
  const row = await db.read((tx) => findAddress(tx, integrationId, named), { single: true });
  const isFound =
    row?.integration.organizationId === organizationId &&
    row.integration.type === provider.id &&
    (!isApp || row.integration.appId !== null);
  if (row === null || !isFound) throw refuse(404, 'Integration not found');
  const { repository } = row;
  return { key, row, isKept: false, isApp, provider, named, repository, repositoryId };
}

/** The event of a payload, and the address with the repository that it is about. */
interface ReadEvent {
  address: Address;
  result: EventResult;
  change: InstallationChange | null;
}

/** Throws `MalformedPayload`. An event about a repository that is not connected is ignored. */
async function readEvent(
  deps: Pick<Deps, 'db'>,
  address: Address,
  event: string,
  payload: Payload,
): Promise<ReadEvent> {
  const { provider, isApp, row } = address;
  const changed = isApp ? provider.app?.readChange(event, payload) : null;
  if (changed) return { address, ...changed };
  const result = parseEvent(provider, event, payload);
  if (!isApp) return { address, result, change: null };
  const named = provider.repositoryOf(payload);
  if (named === null) {
    if (result.outcome !== 'processed') return { address, result, change: null };
    throw new MalformedPayload('repository is missing');
  }
  const { id } = row.integration;
  const found = await deps.db.read(async (tx) => {
    const isSample = named.id === SAMPLE_REPOSITORY_ID;
    const repositoryId = await findRepositoryId(tx, id, isSample ? named.fullName : named.id);
    return repositoryId === null ? null : await findAddress(tx, id, repositoryId);
  });
  const { repository = null } = found ?? {};
  if (found === null || repository === null) {
    return { address, result: ignored(result.title, notConnected(named.fullName)), change: null };
  }
  const { id: repositoryId } = repository;
  const own = { ...address, row: found, named: repositoryId, repository, repositoryId };
  return { address: own, result, change: null };
}

const notConnected = (fullName: string) =>
  `The App's installation does not have ${cutLine(fullName, 200)} here, or another integration has it`;

/** 404 for a repository that is not connected, 403 for one of another integration. */
function requireRepository({ row: { integration }, repositoryId, repository }: Address): void {
  if (repositoryId === null) return;
  if (repository === null) throw new Refusal(refusals.unknownRepository(repositoryId));
  if (repository.integrationId !== integration.id) throw new Refusal(refusals.otherIntegration);
}

/** The refusal behind an error that the sender caused; any other error as it is. */
function asRefusal(error: unknown): unknown {
  if (error instanceof UploadError) return new Refusal(refusals[error.problem]);
  return error instanceof MalformedPayload ? new Refusal(refusals.malformed(error.message), error) : error;
}

/**
 * 403 for a payload about another repository than the URL's. The provider's id decides once it is known, so a renamed
 * repository stays connected; until then the name does. Returns the identity to keep, null when nothing is new.
 */
function requireSameRepository(
  provider: Provider,
  connected: Repository | null,
  named: ReturnType<Provider['repositoryOf']>,
): RepositoryIdentity | null {
  if (connected === null || named === null) return null;
  const { id, fullName } = named;
  const isUnknown = connected.providerId === null;
  const isSame =
    isUnknown || id === SAMPLE_REPOSITORY_ID
      ? fullName.toLowerCase() === connected.fullName.toLowerCase()
      : id === connected.providerId;
  if (!isSame) throw new Refusal(refusals.otherRepository(provider, connected, named));
  if (!isUnknown && fullName === connected.fullName) return null;
  const isUsable = Number.isSafeInteger(id) && id > 0 && provider.isRepositoryName(fullName);
  return isUsable ? { providerId: id, fullName } : null;
}

const COMMON_HEADERS = ['user-agent', 'content-type', 'content-length'];

const MAX_HEADER_LENGTH = 200;

/** The headers that people may need, each cut to one line. */
function keptHeaders(provider: Provider, headers: Headers): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of [...COMMON_HEADERS, ...provider.loggedHeaders]) {
    const value = headers.get(name);
    if (value !== null) kept[name] = cutLine(value, MAX_HEADER_LENGTH);
  }
  return kept;
}

function responseTo(
  result: EventResult,
  data: { event: string; delivery: string },
  repository: ReturnType<Provider['repositoryOf']>,
): Received {
  if (result.outcome === 'ping') return { received: true, message: 'Webhook configured successfully', data };
  if (result.outcome === 'ignored') return { received: true, message: `Ignored: ${result.reason}` };
  const { processed } = result;
  const message = `Processed ${processed.type}: ${processed.action}`;
  return { received: true, message, data: { ...data, processed, ...(repository && { repository }) } };
}

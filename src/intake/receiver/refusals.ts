import type { WriteTx } from '../../../db/engine.ts';
import { isLocked, isSystemFailure, knownFailure } from '../../../db/failures.ts';
import {
  countDelivery,
  type Delivery,
  insertDelivery,
  type NewDelivery,
} from '../../integrations/deliveries/store.ts';
import type { Integration, Repository } from '../../integrations/words.ts';
import { AppError } from '../../lib/app-error.ts';
import { count, cutLine, derivedId } from '../../lib/text.ts';
import type { Deps } from '../../people/deps.ts';
import { providerOf } from '../../providers/index.ts';
import type { Provider } from '../../providers/provider.ts';
import { bodyChanges, MAX_EXAMINED_BYTES, type SignatureFinding, type Tried } from './signature-doctor.ts';

// Deliveries that are not taken: the response to the sender, and the log entry for the organization.

interface Description {
  status: number;
  /** For the sender, who may not be verified. */
  message: string;
  headers?: Record<string, string>;
  /** For the log; default: the message. */
  title?: string;
  /** For the log: the whole cause. It may quote the sender. */
  reason: string;
  /** For the log, in place of the payload's data. */
  data?: NonNullable<Delivery['payload']['data']>;
  /** Rejections of unverified senders share a log entry per minute, status and kind; default: the message. */
  kind?: string;
}

/** A delivery that the sender must change before it can be taken. */
export class Refusal extends AppError {
  readonly log: { title: string; reason: string; data: Delivery['payload']['data']; kind: string };

  constructor(description: Description, cause?: unknown) {
    const { status, message, headers = {}, title = message, reason } = description;
    const { data = null, kind = message } = description;
    super(status, message, { headers, cause, isRefusal: true });
    this.log = { title, reason, data, kind };
  }
}

const NOT_OF_INTEGRATION = 'Repository does not belong to the integration';

export const refusals = {
  too_large: { status: 413, message: 'Payload too large', reason: 'The body has more than 25 MiB' },
  aborted: {
    status: 400,
    message: 'Upload aborted',
    reason: 'The connection closed before the whole body arrived',
  },
  too_slow: {
    status: 408,
    message: 'Upload timed out',
    headers: { connection: 'close' },
    reason: 'The body took more than 15 seconds to arrive',
  },
  no_room: {
    status: 503,
    message: 'Too many uploads',
    headers: { 'retry-after': '5' },
    reason: 'Unverified senders had too many unfinished uploads. Redeliver it later.',
  },
  disabled: { status: 403, message: 'Integration is disabled', reason: 'The integration is disabled' },
  unknownRepository: (id: string) => ({
    status: 404,
    message: 'Repository not found',
    reason: `The webhook's URL names a repository that is not connected: ${id}`,
  }),
  otherIntegration: {
    status: 403,
    message: NOT_OF_INTEGRATION,
    reason: "The webhook's URL names a repository of another integration",
  },
  missingHeader: ({ name }: Provider, header: string) => ({
    status: 400,
    message: `Missing or invalid header: ${header}`,
    reason: `A ${name} delivery must have the header ${header}`,
  }),
  wrongSignature(provider: Provider, finding: SignatureFinding) {
    const other = finding.cause === 'other-integration' ? { integrationId: finding.other.id } : {};
    return {
      status: 401,
      // The same for every cause: the sender has proved nothing.
      message: 'Invalid webhook signature',
      title: 'Signature does not match',
      reason: signatureReason(finding, provider),
      data: { signature: finding.cause, ...other },
      // Bounded: few deliveries a minute are examined, so few other integrations are named.
      kind: ['signature', finding.cause, other.integrationId ?? ''].join(':'),
    };
  },
  malformed: (reason: string) => ({
    status: 400,
    message: `Malformed payload: ${reason}`,
    title: 'Malformed payload',
    reason,
  }),
  otherRepository(
    { name }: Provider,
    { fullName, providerId }: Repository,
    named: { id: number; fullName: string },
  ) {
    const repository = cutLine(named.fullName, MAX_NAME_LENGTH);
    const renamed =
      providerId === null
        ? ` If ${fullName} was renamed, remove it from the integration and add it under its new name.`
        : '';
    const reason =
      named.fullName.toLowerCase() === fullName.toLowerCase()
        ? `${name} has another repository under the name ${fullName} now: its ID is ${named.id}, not ${providerId}. Remove the repository from the integration and add it again.`
        : `The delivery is about ${repository}, but the webhook's URL is for ${fullName}. Correct the URL at ${name}, or connect ${repository} too.${renamed}`;
    return { status: 403, message: NOT_OF_INTEGRATION, reason, data: { repository } };
  },
} satisfies Record<string, Description | ((...words: never[]) => Description)>;

/** Longest repository name that a log entry quotes. Real ones are shorter. */
const MAX_NAME_LENGTH = 200;

/** The likely cause of a wrong signature, and the fix. */
function signatureReason(finding: SignatureFinding, { name, sendsForms }: Provider): string {
  const wrong = 'The delivery was not signed with the secret of this integration';
  const again = `Set the secret again at ${name}, or rotate it and set the new one.`;
  switch (finding.cause) {
    case 'previous-secret':
      return `The delivery was signed with the secret before the last rotation, which no longer works. Set the current secret at ${name}. If nobody has it, rotate the secret and set the new one.`;
    case 'other-integration':
      return `The delivery was signed with the secret of another integration of this organization: ${nameOf(finding.other)}. Set the URL and the secret of the same integration at ${name}.`;
    case 'whitespace':
      return `The delivery was signed with the secret of this integration and ${finding.extra}. Set the secret again at ${name}, with nothing before or after it.`;
    case 'body-altered':
    case 'form': {
      const isForm = finding.cause === 'form' && sendsForms;
      const choose = isForm ? `, and choose the content type application/json at ${name}` : '';
      return `The delivery was signed with the secret of this integration, but something between ${name} and Tidings changed the body: ${bodyChanges[finding.change]}. Make proxies and functions pass the bytes through unchanged${choose}.`;
    }
    case 'too-large':
      return `${wrong}. The body has more than ${MAX_EXAMINED_BYTES / 1024} KiB, so Tidings did not look for the cause. A smaller delivery may show it. ${again}`;
    case 'not-examined':
      return `${wrong}. Tidings did not look for the cause again, because it examined enough rejected deliveries in this minute. See the other entries of this minute.`;
    case 'unknown':
      return finding.tried === null
        ? `${wrong}. Tidings failed to look for the cause; see the server's log. ${again}`
        : `${wrong}, and Tidings found none of the usual causes. ${triedWords(finding.tried)} ${again}`;
  }
}

function triedWords({ hasPrevious, others, hasMore }: Tried): string {
  const integrations = hasMore
    ? `the ${others} newest other integrations`
    : count(others, 'other integration');
  const words = [
    ...(hasPrevious ? ['its previous secret'] : []),
    ...(others === 0 ? [] : [`the secrets of ${integrations} of this organization`]),
    'white space and quotation marks around the secret',
    'reformatted JSON',
    'changed line endings and byte order marks',
    'a form instead of JSON, and JSON instead of a form',
  ];
  return `Tried: ${words.join('; ')}.`;
}

function nameOf({ id, type, repositories }: Integration): string {
  const named = repositories.slice(0, 3).map(({ fullName }) => fullName);
  const rest = repositories.length - named.length;
  return `${[providerOf(type).name, ...named].join(', ')}${rest > 0 ? ` and ${rest} more` : ''} (${id})`;
}

/** A log entry until the outcome is known. */
export type OpenEntry = Omit<NewDelivery, 'title' | 'status' | 'reason'>;

/**
 * Logs a delivery that was refused or that failed; never throws. Unverified senders can store little: their deliveries
 * to one integration share an entry. Gives up after `giveUpMs` while another process writes.
 */
export async function recordFailure(
  deps: Pick<Deps, 'db' | 'clock' | 'log' | 'metrics'>,
  open: OpenEntry,
  error: unknown,
  giveUpMs: number,
): Promise<void> {
  const { db, clock, log, metrics } = deps;
  const entry = error instanceof Refusal ? rejected(open, error) : failed(open, error);
  metrics.deliveries(entry.integrationType, entry.status).value++;
  // Headers are kept only after the signature check.
  const isVerified = entry.headers !== null;
  // Readiness itself measures how long the database is locked.
  if (isVerified && isSystemFailure(error) && !isLocked(error)) {
    metrics.failedDeliveries.inARow++;
    metrics.failedDeliveries.lastAtMs = performance.now();
  }
  const now = clock.now();
  const kind = error instanceof Refusal ? error.log.kind : 'failed';
  const cause = [entry.createdAt.slice(0, 16), String(entry.statusCode), kind];
  // The row of a minute and a cause, which all processes count in.
  const counted = { ...entry, id: derivedId('dlv', entry.integrationId, ...cause), repositoryId: null };
  const write = (tx: WriteTx) =>
    isVerified ? insertDelivery(tx, entry, now) : countDelivery(tx, counted, now);
  try {
    await db.write(write, { key: `delivery ${isVerified ? entry.id : counted.id}`, giveUpMs });
  } catch (err) {
    log.error({ err, integrationId: entry.integrationId }, 'a rejected delivery could not be logged');
  }
}

function rejected(open: OpenEntry, { status: statusCode, log }: Refusal): NewDelivery {
  const { title, reason, data } = log;
  return { ...open, status: 'rejected', statusCode, title, reason, payload: { ...open.payload, data } };
}

function failed(open: OpenEntry, error: unknown): NewDelivery {
  return {
    ...open,
    status: 'failed',
    statusCode: knownFailure(error)?.status ?? 500,
    title: `${open.payload.event ?? 'Delivery'} failed`,
    reason: `The delivery could not be processed: ${error instanceof Error ? error.message : error}`,
  };
}

import { Type } from '@sinclair/typebox';
import { DAY_MS } from '../lib/time.ts';
import type { ProcessedDelivery } from '../providers/provider.ts';
import type { ProcessedEntry } from './log-store.ts';
import type { Delivery } from './store.ts';

export type { Delivery };

/** How long a delivery id is remembered, in milliseconds (section 8 of the spec: 86,400 seconds). */
export const DEDUP_WINDOW_MS = DAY_MS;

/** Why a duplicate is not processed again. */
export const DUPLICATE_REASON = 'The same delivery id was accepted less than 24 hours ago';

/** The delivery ids of what polling read begin with it. */
export const POLLED_ID = 'poll-';

/** Why a delivery changes nothing that polling read before it. */
export const POLLED_REASON = 'Tidings polled this event before the webhook delivered it';

export type DeliveryStatus = Delivery['status'];
export const deliveryStatuses = ['processed', 'ignored', 'duplicate', 'rejected', 'failed'] as const;

/** True when the provider need not send the delivery again. */
export function isTaken(status: DeliveryStatus): boolean {
  return status === 'processed' || status === 'ignored' || status === 'duplicate';
}

/**
 * A processed entry as the triggers read it; null for an entry without data, such as a ping or a rejection.
 * `repositories` are those of its integration.
 */
export function toProcessed(
  entry: ProcessedEntry,
  repositories: readonly { id: string; fullName: string }[],
): ProcessedDelivery | null {
  const { status, referenceId, repositoryId, integrationId, integrationType, payload, createdAt } = entry;
  const { event, action, data } = payload;
  if (status !== 'processed' || data === null || event === null || action === null) return null;
  return {
    integrationId,
    integrationType,
    repositoryId,
    repository: repositories.find(({ id }) => id === repositoryId)?.fullName ?? null,
    deliveryId: referenceId ?? entry.id,
    receivedAt: createdAt,
    event,
    action,
    data,
  };
}

/** True when triggers can run the entry again. A replay is left out: its original is in the log too. */
export function isReplayable({ status, payload, replayOf }: Delivery): boolean {
  return status === 'processed' && payload.data !== null && replayOf === null;
}

export const WebhookReceived = Type.Object(
  {
    received: Type.Literal(true),
    message: Type.String({ description: 'A summary of the result.' }),
    data: Type.Optional(
      Type.Object(
        {
          event: Type.String({ description: 'The event, such as `push` or `ping`.' }),
          delivery: Type.String({ description: 'The delivery id.' }),
          processed: Type.Optional(
            Type.Object(
              {
                type: Type.String({ description: 'Such as `release`.' }),
                action: Type.String({ description: 'Such as `published`.' }),
                data: Type.Record(Type.String(), Type.Unknown(), {
                  description: 'The main facts of the event.',
                }),
              },
              { description: 'Present for processed events.', additionalProperties: false },
            ),
          ),
          repository: Type.Optional(
            Type.Object(
              { id: Type.Integer(), fullName: Type.String({ description: 'owner/repository' }) },
              { description: 'Present when the event is about a repository.', additionalProperties: false },
            ),
          ),
        },
        { description: 'Present for processed events and pings.', additionalProperties: false },
      ),
    ),
  },
  {
    additionalProperties: false,
    description: 'The delivery was accepted: processed, ignored, or a duplicate.',
    examples: [
      {
        received: true,
        message: 'Processed release: published',
        data: {
          event: 'release',
          delivery: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
          processed: {
            type: 'release',
            action: 'published',
            data: {
              id: 250,
              tagName: 'v2.4.0',
              name: 'Rocket 2.4: quieter engines',
              body: '### Added\n\n- Quiet mode: engines start 40 % softer\n',
              isPrerelease: false,
              isDraft: false,
              author: 'ann',
              url: 'https://github.com/acme/rocket/releases/tag/v2.4.0',
              publishedAt: '2026-11-18T09:30:00Z',
              updatedAt: null,
              targetBranch: 'main',
              defaultBranch: 'main',
            },
          },
          repository: { id: 186853002, fullName: 'acme/rocket' },
        },
      },
      {
        received: true,
        message: 'Webhook configured successfully',
        data: { event: 'ping', delivery: '72d3162e-cc78-11e3-81ab-4c9367dc0958' },
      },
      { received: true, message: `Duplicate delivery: ${DUPLICATE_REASON}` },
    ],
  },
);

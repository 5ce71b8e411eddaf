import { Type } from '@sinclair/typebox';
import { DAY_MS } from '../lib/time.ts';
import type { Plan } from '../organizations/model.ts';
import type { IntegrationType } from '../providers/index.ts';

/** How long a delivery id is remembered, in milliseconds (section 8 of the spec: 86,400 seconds). */
export const DEDUP_WINDOW_MS = DAY_MS;

/** Why a duplicate is not processed again. */
export const DUPLICATE_REASON = 'The same delivery id was taken less than 24 hours ago';

/** How long a log entry is kept, by plan, in days (section 2 of the spec). */
export const retentionDaysOf: Readonly<Record<Plan, number>> = { free: 7, pro: 30 };

export const deliveryStatuses = ['processed', 'ignored', 'duplicate', 'rejected', 'failed'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Whether a delivery of this status needs no other. */
export function isTaken(status: DeliveryStatus): boolean {
  return status === 'processed' || status === 'ignored' || status === 'duplicate';
}

/** An entry of the delivery log. */
export interface Delivery {
  id: string;
  organizationId: string;
  integrationId: string;
  integrationType: IntegrationType;
  repositoryId: string | null;
  /** What happened, in words. */
  title: string;
  status: DeliveryStatus;
  /** The HTTP status that was answered. */
  statusCode: number;
  /** The provider's delivery id; null when a refused sender gave none. */
  referenceId: string | null;
  payload: { event: string | null; action: string | null; data: Record<string, unknown> | null };
  /** Headers that tell of the delivery, by lower-case name, never a secret; null when the sender was not verified. */
  headers: Record<string, string> | null;
  /** Why, in words, for anything that was not processed. */
  reason: string | null;
  /** How many arrivals the entry stands for: refusals of one kind and minute share one. */
  count: number;
  /** The delivery id under which the same body was taken before; neither provider signs the id. */
  sameBodyAs: string | null;
  /** The entry of the delivery that this one ran again; null for an arrival. */
  replayOf: string | null;
  /** From the arrival to the writing of the entry, in milliseconds. */
  durationMs: number;
  retentionDays: number;
  createdAt: string;
}

export const WebhookReceived = Type.Object(
  {
    received: Type.Literal(true),
    message: Type.String({ description: 'What was done, in words.' }),
    data: Type.Optional(
      Type.Object(
        {
          event: Type.String({ description: "The event's name, such as `push` or `ping`." }),
          delivery: Type.String({ description: 'The delivery id.' }),
          processed: Type.Optional(
            Type.Object(
              {
                type: Type.String({ description: 'Such as `release`.' }),
                action: Type.String({ description: 'Such as `published`.' }),
                data: Type.Record(Type.String(), Type.Unknown(), {
                  description: 'What the event says, in short.',
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
    description: 'A delivery that was taken: processed, ignored, or a duplicate.',
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

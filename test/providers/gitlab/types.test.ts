import { test } from 'bun:test';
import type {
  ProjectHookSchema,
  WebhookMergeRequestEventSchema,
  WebhookProjectSchema,
  WebhookPushEventSchema,
  WebhookReleaseEventSchema,
} from '@gitbeaker/core';
import type { EVENT_FLAGS } from '../../../src/providers/gitlab/api/responses.ts';
import { mergeRequest, push, release } from '../../../src/providers/gitlab/samples.ts';

/** The keys of a sample that the type of GitLab's client does not have. */
type Unknown<Sample, Known> = Exclude<keyof Sample, keyof Known>;

test("the compiler holds the samples against the types of GitLab's client", () => {
  const context = { repository: 'acme/rocket', now: new Date('2026-11-20T12:00:00.000Z') };
  const published = release(context);
  const pushed = push(context);
  const merged = mergeRequest(context);

  published satisfies WebhookReleaseEventSchema;
  published.project satisfies WebhookProjectSchema;
  pushed satisfies WebhookPushEventSchema;
  merged.object_attributes satisfies Partial<WebhookMergeRequestEventSchema['object_attributes']>;

  const unknown: (
    | Unknown<typeof published, WebhookReleaseEventSchema>
    | Unknown<typeof published.project, WebhookProjectSchema>
    | Unknown<typeof pushed, WebhookPushEventSchema>
    | Unknown<(typeof pushed.commits)[number], NonNullable<WebhookPushEventSchema['commits']>[number]>
    | Unknown<typeof merged.object_attributes, WebhookMergeRequestEventSchema['object_attributes']>
  )[] = [];
  unknown satisfies never[];

  // The flags that subscribe a webhook to events.
  const flag = 'push_events' as (typeof EVENT_FLAGS)[keyof typeof EVENT_FLAGS];
  flag satisfies keyof ProjectHookSchema;
});

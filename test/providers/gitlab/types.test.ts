import { test } from 'bun:test';
import type {
  ProjectHookSchema,
  WebhookMergeRequestEventSchema,
  WebhookProjectSchema,
  WebhookPushEventSchema,
  WebhookReleaseEventSchema,
} from '@gitbeaker/core';
import type { EVENT_FLAGS } from '../../../src/providers/gitlab/api/responses.ts';
import file from '../../../src/providers/gitlab/samples.json';
import type { Json } from '../../support/payloads.ts';

/** The keys of a sample that the type of GitLab's client does not have. */
type Unknown<Sample, Known> = Exclude<keyof Sample, keyof Known>;

test("the compiler holds the samples against the types of GitLab's client", () => {
  const { release: published, push: pushed, merge_request: merged } = file.samples;

  published satisfies Json<WebhookReleaseEventSchema>;
  published.project satisfies Json<WebhookProjectSchema>;
  pushed satisfies Json<WebhookPushEventSchema>;
  merged.object_attributes satisfies Partial<Json<WebhookMergeRequestEventSchema['object_attributes']>>;

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

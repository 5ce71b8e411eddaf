import { test } from 'bun:test';
import type { LinearDocument } from '@linear/sdk';
import type {
  EntityWebhookPayloadWithAttachmentData,
  EntityWebhookPayloadWithInitiativeUpdateData,
  EntityWebhookPayloadWithIssueData,
  EntityWebhookPayloadWithProjectData,
  EntityWebhookPayloadWithProjectUpdateData,
} from '@linear/sdk/webhooks';

import {
  attachment,
  initiativeUpdate,
  issue,
  project,
  projectUpdate,
  release,
  releaseNote,
} from '../../../src/providers/linear/samples.ts';

/** A type as it is once it went through JSON. */
type Json<Value> = Value extends Date
  ? string
  : Value extends object
    ? { [Key in keyof Value]: Json<Value[Key]> }
    : Value;

test("the compiler holds the samples against the types of Linear's SDK", () => {
  const context = { repository: '', now: new Date('2026-11-20T12:00:00.000Z') };
  attachment(context) satisfies Json<EntityWebhookPayloadWithAttachmentData>;
  issue(context) satisfies Json<EntityWebhookPayloadWithIssueData>;
  project(context) satisfies Json<EntityWebhookPayloadWithProjectData>;
  projectUpdate(context) satisfies Json<EntityWebhookPayloadWithProjectUpdateData>;
  // The SDK has no type of these two as a whole.
  release(context).data satisfies LinearDocument.ReleaseWebhookPayload;
  releaseNote(context).data satisfies LinearDocument.ReleaseNoteWebhookPayload;
  initiativeUpdate(context) satisfies Json<EntityWebhookPayloadWithInitiativeUpdateData>;
});

import { test } from 'bun:test';
import type { LinearDocument } from '@linear/sdk';
import type {
  EntityWebhookPayloadWithAttachmentData,
  EntityWebhookPayloadWithInitiativeUpdateData,
  EntityWebhookPayloadWithIssueData,
  EntityWebhookPayloadWithProjectData,
  EntityWebhookPayloadWithProjectUpdateData,
} from '@linear/sdk/webhooks';
import file from '../../../src/providers/linear/samples.json';
import type { Json } from '../../support/payloads.ts';

test("the compiler holds the samples against the types of Linear's SDK", () => {
  const { Attachment, Issue, Project, ProjectUpdate, InitiativeUpdate, Release, ReleaseNote } = file.samples;
  /** The time in milliseconds is no text with a placeholder. */
  const sent = { webhookTimestamp: 0 };
  ({ ...Attachment, ...sent }) satisfies Json<EntityWebhookPayloadWithAttachmentData>;
  ({ ...Issue, ...sent }) satisfies Json<EntityWebhookPayloadWithIssueData>;
  ({ ...Project, ...sent }) satisfies Json<EntityWebhookPayloadWithProjectData>;
  ({ ...ProjectUpdate, ...sent }) satisfies Json<EntityWebhookPayloadWithProjectUpdateData>;
  ({ ...InitiativeUpdate, ...sent }) satisfies Json<EntityWebhookPayloadWithInitiativeUpdateData>;
  // The SDK has no type of these two as a whole.
  Release.data satisfies Json<LinearDocument.ReleaseWebhookPayload>;
  ReleaseNote.data satisfies Json<LinearDocument.ReleaseNoteWebhookPayload>;
});

import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { Deps } from '../deps.ts';
import { MAX_BODY_BYTES, UNVERIFIED_UPLOAD_MS } from '../http/body-limit.ts';
import { documented, webhookRefusals } from '../http/openapi.ts';
import { json } from '../http/respond.ts';
import { ID_PATTERN } from '../lib/ids.ts';
import { declaresTooMuch, readUpload, type UploadBudget } from '../lib/upload.ts';
import type { Arrival } from './addressee.ts';
import type { Provider } from './provider.ts';
import { createReceiver } from './receive.ts';

const Id = (description: string) => Type.String({ pattern: ID_PATTERN, description });

const path = {
  provider: Type.Union([Type.Literal('github'), Type.Literal('linear')], { description: 'Who delivers.' }),
  organizationId: Id('Organization identifier.'),
  integrationId: Id('Identifier of the connected integration.'),
};

const headers = Type.Object({
  'X-GitHub-Event': Type.Optional(Type.String({ description: 'GitHub: the event, such as `release`.' })),
  'X-GitHub-Delivery': Type.Optional(
    Type.String({ description: 'GitHub: the delivery id, remembered for 24 hours.' }),
  ),
  'X-Hub-Signature-256': Type.Optional(
    Type.String({
      pattern: '^sha256=[0-9a-f]{64}$',
      description:
        "GitHub: `sha256=` and the HMAC-SHA-256 of the raw body under the integration's secret, in hex.",
    }),
  ),
  'Linear-Event': Type.Optional(Type.String({ description: 'Linear: the event, such as `Issue`.' })),
  'Linear-Delivery': Type.Optional(
    Type.String({ description: 'Linear: the delivery id, remembered for 24 hours.' }),
  ),
  'Linear-Signature': Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: "Linear: the HMAC-SHA-256 of the raw body under the integration's secret, in hex.",
    }),
  ),
});

const documentation = {
  tags: ['Webhooks'],
  description:
    "Takes a provider's delivery: verifies its signature over the raw body, never processes an id twice within 24 hours, and answers when it is on the disk. Events that mean nothing here are taken and ignored. The URL is made when an integration is connected.",
  headers,
  body: {
    'application/json': Type.Object(
      {},
      { additionalProperties: true, description: "The provider's own payload." },
    ),
    'application/x-www-form-urlencoded': Type.Object(
      { payload: Type.String({ description: 'The payload as JSON; GitHub only.' }) },
      { description: 'What a GitHub webhook of the content type "form" sends.' },
    ),
  },
  responses: { 200: 'WebhookReceived', ...webhookRefusals },
  security: [],
};

/** The webhook receiver: section 4.4 of the spec. Authentication is by signature. */
export function webhooks(
  deps: Pick<Deps, 'db' | 'clock' | 'ids' | 'secrets' | 'log' | 'metrics'>,
  providers: readonly Provider[],
  budget: UploadBudget,
) {
  const limits = { maxBytes: MAX_BODY_BYTES, timeoutMs: UNVERIFIED_UPLOAD_MS, budget };
  const receive = createReceiver(deps, providers);

  async function answer(request: Request, path: Arrival['path']): Promise<Response> {
    const { headers } = request;
    const isTooLarge = declaresTooMuch(headers, MAX_BODY_BYTES);
    return json(await receive({ path, headers, isTooLarge, readBody: () => readUpload(request, limits) }));
  }

  return new Elysia({ name: 'webhooks' })
    .post(
      '/api/webhooks/:provider/:organizationId/:integrationId/:repositoryId',
      ({ request, params }) => answer(request, params),
      {
        // The signature covers the bytes: nobody may read them before it is checked.
        parse: 'none',
        detail: documented({
          ...documentation,
          operationId: 'receiveWebhook',
          summary: 'Receive a delivery about a repository',
          params: Type.Object({ ...path, repositoryId: Id('Identifier of the repository; `-` for Linear.') }),
        }),
      },
    )
    .post(
      '/api/webhooks/:provider/:organizationId/:integrationId',
      ({ request, params }) => answer(request, { ...params, repositoryId: undefined }),
      {
        parse: 'none',
        detail: documented({
          ...documentation,
          operationId: 'receiveWebhookWithoutRepository',
          summary: 'Receive a delivery of an issue tracker',
          params: Type.Object(path),
        }),
      },
    );
}

import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { Deps } from '../deps.ts';
import { MAX_BODY_BYTES, UNVERIFIED_UPLOAD_MS } from '../http/body-limit.ts';
import { documented, refusal, webhookRefusals } from '../http/openapi.ts';
import { json } from '../http/respond.ts';
import { ID_PATTERN } from '../lib/ids.ts';
import { declaresTooMuch, readUpload, type UploadBudget } from '../lib/upload.ts';
import type { Provider } from '../providers/provider.ts';
import { type Arrival, createReceiver } from './receive.ts';

const Id = (description: string) => Type.String({ pattern: ID_PATTERN, description });

const ProviderId = (...ids: string[]) =>
  Type.Unsafe<string>({ type: 'string', enum: ids, description: 'The provider that sends the delivery.' });

const path = {
  organizationId: Id('Organization identifier.'),
  integrationId: Id('Identifier of the connected integration.'),
};

const githubHeaders = Type.Object({
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
});

const linearHeaders = Type.Object({
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
  security: [],
};

const payload = Type.Record(Type.String(), Type.Unknown(), { description: "The provider's own payload." });

/** The webhook receiver: section 4.4 of the spec. Authentication is by signature. */
export function webhooks(
  deps: Pick<Deps, 'db' | 'clock' | 'ids' | 'secrets' | 'log' | 'metrics'>,
  providers: readonly Provider[],
  budget: UploadBudget,
) {
  const limits = { maxBytes: MAX_BODY_BYTES, timeoutMs: UNVERIFIED_UPLOAD_MS, budget };
  const receive = createReceiver(deps, providers);

  async function respond(request: Request, path: Arrival['path']): Promise<Response> {
    const { headers } = request;
    const isTooLarge = declaresTooMuch(headers, MAX_BODY_BYTES);
    return json(await receive({ path, headers, isTooLarge, readBody: () => readUpload(request, limits) }));
  }

  return new Elysia({ name: 'webhooks' })
    .post(
      '/api/webhooks/:provider/:organizationId/:integrationId/:repositoryId',
      ({ request, params }) => respond(request, params),
      {
        // The signature covers the bytes: nobody may read them before it is checked.
        parse: 'none',
        detail: documented({
          ...documentation,
          operationId: 'receiveWebhook',
          summary: 'Receive a delivery about a repository',
          params: Type.Object({
            provider: ProviderId('github', 'linear'),
            ...path,
            repositoryId: Id('Identifier of the repository; `-` for Linear.'),
          }),
          headers: Type.Composite([githubHeaders, linearHeaders]),
          body: {
            'application/json': payload,
            'application/x-www-form-urlencoded': Type.Object(
              { payload: Type.String({ description: 'The payload as JSON; GitHub only.' }) },
              { description: 'What a GitHub webhook of the content type "form" sends.' },
            ),
          },
          responses: { 200: 'WebhookReceived', ...webhookRefusals },
        }),
      },
    )
    .post(
      '/api/webhooks/:provider/:organizationId/:integrationId',
      ({ request, params }) => respond(request, { ...params, repositoryId: undefined }),
      {
        parse: 'none',
        detail: documented({
          ...documentation,
          operationId: 'receiveWebhookWithoutRepository',
          summary: 'Receive a delivery of an issue tracker',
          params: Type.Object({ provider: ProviderId('linear'), ...path }),
          headers: Type.Required(linearHeaders),
          body: { 'application/json': payload },
          responses: {
            200: 'WebhookReceived',
            ...webhookRefusals,
            400: refusal('The path, a header or the payload is invalid.', [
              'Invalid webhook parameters',
              'Missing or invalid header: Linear-Event',
              'Malformed payload: the body is not a JSON object',
              'Upload aborted',
            ]),
            403: refusal('The integration is disabled.', ['Integration is disabled']),
            404: refusal('There is no such integration.', ['Integration not found']),
          },
        }),
      },
    );
}

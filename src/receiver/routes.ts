import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { documented, refusal, webhookRefusals } from '../http/openapi.ts';
import {
  declaresTooMuch,
  MAX_BODY_BYTES,
  readUpload,
  UNVERIFIED_UPLOAD_MS,
  type UploadBudget,
} from '../http/request.ts';
import { json } from '../http/respond.ts';
import { ID_PATTERN } from '../lib/text.ts';
import type { Provider } from '../providers/provider.ts';
import { type Arrival, createReceiver, type ReceiverDeps } from './receive.ts';

const Id = (description: string) => Type.String({ pattern: ID_PATTERN, description });

const ProviderId = (...ids: string[]) =>
  Type.Unsafe<string>({ type: 'string', enum: ids, description: 'The provider that sends the delivery.' });

const path = {
  organizationId: Id('Organization identifier.'),
  integrationId: Id('Identifier of the connected integration.'),
};

function headersOf({ name, headerNames, exampleEvent }: Provider) {
  const { event, delivery, signature, prefix } = headerNames;
  const hex = prefix === '' ? 'the HMAC-SHA-256' : `\`${prefix}\` and the HMAC-SHA-256`;
  return Type.Object({
    [event]: Type.Optional(Type.String({ description: `${name}: the event, such as \`${exampleEvent}\`.` })),
    [delivery]: Type.Optional(
      Type.String({ description: `${name}: the delivery id, remembered for 24 hours.` }),
    ),
    [signature]: Type.Optional(
      Type.String({
        pattern: `^${prefix}[0-9a-f]{64}$`,
        description: `${name}: ${hex} of the raw body under the integration's secret, in hex.`,
      }),
    ),
  });
}

const namesOf = (some: readonly Provider[]) => some.map(({ name }) => name).join(' and ');

const documentation = {
  tags: ['Webhooks'],
  description:
    "Takes a provider's delivery: verifies its signature over the raw body, never processes an id twice within 24 hours, and answers when it is on the disk. Events that mean nothing here are taken and ignored. The URL is made when an integration is connected.",
  security: [],
};

const payload = Type.Record(Type.String(), Type.Unknown(), { description: "The provider's own payload." });

/** The webhook receiver: section 4.4 of the spec. Authentication is by signature. */
export function webhooks(deps: ReceiverDeps, providers: readonly Provider[], budget: UploadBudget) {
  const limits = { maxBytes: MAX_BODY_BYTES, timeoutMs: UNVERIFIED_UPLOAD_MS, budget };
  const receive = createReceiver(deps, providers);
  const trackers = providers.filter(({ hasRepositories }) => !hasRepositories);
  const trackerHeaders = Type.Composite(trackers.map(headersOf));
  const formSenders = providers.filter(({ sendsForms }) => sendsForms);

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
            provider: ProviderId(...providers.map(({ id }) => id)),
            ...path,
            repositoryId: Id(`Identifier of the repository; \`-\` for ${namesOf(trackers)}.`),
          }),
          headers: Type.Composite(providers.map(headersOf)),
          body: {
            'application/json': payload,
            'application/x-www-form-urlencoded': Type.Object(
              { payload: Type.String({ description: `The payload as JSON; ${namesOf(formSenders)} only.` }) },
              { description: `The body of a ${namesOf(formSenders)} webhook with the content type "form".` },
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
          params: Type.Object({ provider: ProviderId(...trackers.map(({ id }) => id)), ...path }),
          headers: trackers.length === 1 ? Type.Required(trackerHeaders) : trackerHeaders,
          body: { 'application/json': payload },
          responses: {
            200: 'WebhookReceived',
            ...webhookRefusals,
            400: refusal('The path, a header or the payload is invalid.', [
              'Invalid webhook parameters',
              `Missing or invalid header: ${trackers[0]?.headerNames.event}`,
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

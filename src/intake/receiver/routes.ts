import { type TSchema, Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { jsonBody, parameters, refusal, webhookRefusals } from '../../http/openapi.ts';
import {
  declaresTooMuch,
  MAX_BODY_BYTES,
  readUpload,
  UNVERIFIED_UPLOAD_MS,
  type UploadBudget,
} from '../../http/request.ts';
import { json } from '../../http/respond.ts';
import { WebhookReceived } from '../../integrations/deliveries/store.ts';
import { ID_PATTERN } from '../../lib/text.ts';
import type { Provider } from '../../providers/provider.ts';
import { type Arrival, createReceiver, type ReceiverDeps } from './receive.ts';

const Id = (description: string, example: string) =>
  Type.String({ pattern: ID_PATTERN, description, examples: [example] });

const ProviderId = (...ids: string[]) =>
  Type.Unsafe<string>({ type: 'string', enum: ids, description: 'The provider that sends the delivery.' });

const path = {
  organizationId: Id('Organization ID.', 'org_3Qv8rT5kWn2LxYbZ7cJd4M'),
  integrationId: Id('Integration ID.', 'int_7hB2mQx9RkPz4TnVw6LcGy'),
};

function headersOf({ name, headerNames, headerDocs, exampleEvent }: Provider) {
  if (headerDocs !== undefined) {
    const documented = Object.entries(headerDocs).map(([header, description]) => [
      header,
      Type.Optional(Type.String({ description })),
    ]);
    return Type.Object(Object.fromEntries(documented));
  }
  const { event, delivery, signature, prefix } = headerNames;
  const hex = prefix === '' ? 'the HMAC-SHA-256' : `\`${prefix}\` and the HMAC-SHA-256`;
  return Type.Object({
    [event]: Type.Optional(Type.String({ description: `${name}: the event, such as \`${exampleEvent}\`.` })),
    [delivery]: Type.Optional(
      Type.String({ description: `${name}: the delivery ID. Tidings remembers it for 24 hours.` }),
    ),
    [signature]: Type.Optional(
      Type.String({
        pattern: `^${prefix}[0-9a-f]{64}$`,
        description: `${name}: ${hex} of the raw body in hex, with the integration's secret as the key.`,
      }),
    ),
  });
}

const namesOf = (some: readonly Provider[]) => some.map(({ name }) => name).join(' and ');

const documentation = {
  tags: ['Webhooks'],
  description:
    'Receives a delivery of a provider. Tidings verifies the signature of the raw body, processes each delivery ID once in 24 hours, and responds when the delivery is on disk. It accepts and ignores events that it does not use. Connecting an integration creates the URL.',
  security: [],
};

const payload = Type.Record(Type.String(), Type.Unknown(), {
  description: "The provider's own payload.",
});

/** The webhook receiver: section 4.4 of the spec. Authentication is by signature. */
export function webhooks(deps: ReceiverDeps, providers: readonly Provider[], budget: UploadBudget) {
  const limits = { maxBytes: MAX_BODY_BYTES, timeoutMs: UNVERIFIED_UPLOAD_MS, budget };
  const receive = createReceiver(deps, providers);
  const trackers = providers.filter(({ hasRepositories }) => !hasRepositories);
  const withApps = providers.filter(({ app }) => app !== undefined);
  const withoutRepository = [...trackers, ...withApps];
  const appPaths = withApps.flatMap(({ app }) => app?.path ?? []);
  const formSenders = namesOf(providers.filter(({ sendsForms }) => sendsForms));
  const form: TSchema = Type.Object(
    { payload: Type.String({ description: `The payload as JSON; ${formSenders} only.` }) },
    { description: `The body of a ${formSenders} webhook with the content type "form".` },
  );

  async function respond(request: Request, path: Arrival['path']): Promise<Response> {
    const { headers } = request;
    const isTooLarge = declaresTooMuch(headers, MAX_BODY_BYTES);
    return json(await receive({ path, headers, isTooLarge, readBody: () => readUpload(request, limits) }));
  }

  type Context<Params> = { request: Request; params: Params };
  const withRepository = ({ request, params }: Context<Arrival['path']>) => respond(request, params);
  const withoutRepositoryId = ({ request, params }: Context<Omit<Arrival['path'], 'repositoryId'>>) =>
    respond(request, { ...params, repositoryId: undefined });
  // People paste URLs with a slash at the end.
  const hidden = { parse: 'none', detail: { hide: true } } as const;

  return new Elysia({ name: 'webhooks' })
    .post('/api/webhooks/:provider/:organizationId/:integrationId/:repositoryId/', withRepository, hidden)
    .post('/api/webhooks/:provider/:organizationId/:integrationId/', withoutRepositoryId, hidden)
    .post('/api/webhooks/:provider/:organizationId/:integrationId/:repositoryId', withRepository, {
      // The signature covers the bytes: nobody may read them before it is checked.
      parse: 'none',
      response: { 200: WebhookReceived },
      detail: {
        ...documentation,
        operationId: 'receiveWebhook',
        summary: 'Receive a delivery',
        parameters: [
          ...parameters(
            'path',
            Type.Object({
              provider: ProviderId(...providers.map(({ id }) => id)),
              ...path,
              repositoryId: Id(
                `Repository id; \`-\` for ${namesOf(trackers)}.`,
                'repo_5sN8dKf3HjWq2YtXb9MzRe',
              ),
            }),
          ),
          ...parameters('header', Type.Composite(providers.map(headersOf))),
        ],
        requestBody: {
          required: true,
          content: { ...jsonBody(payload), 'application/x-www-form-urlencoded': { schema: form } },
        },
        responses: webhookRefusals,
      },
    })
    .post('/api/webhooks/:provider/:organizationId/:integrationId', withoutRepositoryId, {
      parse: 'none',
      response: { 200: WebhookReceived },
      detail: {
        ...documentation,
        operationId: 'receiveWebhookWithoutRepository',
        summary: 'Receive a delivery without a repository',
        description: `${documentation.description} The payloads of an App name the repository.`,
        parameters: [
          ...parameters(
            'path',
            Type.Object({ provider: ProviderId(...trackers.map(({ id }) => id), ...appPaths), ...path }),
          ),
          ...parameters('header', Type.Composite(withoutRepository.map(headersOf))),
        ],
        requestBody: { required: true, content: jsonBody(payload) },
        responses: {
          ...webhookRefusals,
          200: {
            description: 'OK',
            content: jsonBody(WebhookReceived, {
              example: { received: true, message: 'Ignored: Tidings does not use the event Comment' },
            }),
          },
          400: refusal('The path, a header or the payload is invalid.', [
            'Invalid webhook parameters',
            `Missing or invalid header: ${trackers[0]?.headerNames.event}`,
            'Malformed payload: the body is not a JSON object',
            'Upload aborted',
          ]),
          403: refusal('The integration is disabled.', ['Integration is disabled']),
          404: refusal('The integration does not exist.', ['Integration not found']),
        },
      },
    });
}

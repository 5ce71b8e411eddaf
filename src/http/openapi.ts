import { toOpenAPISchema } from '@elysiajs/openapi/openapi';
import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import { version } from '../lib/build.ts';
import { providers } from '../providers/index.ts';

// The OpenAPI document comes from the routes and the TypeBox models, so that it always matches them.

const OPENAPI_VERSION = '3.1.1';

/** The form of every refusal (section 7 of the spec). */
export const ErrorBody = Type.Object(
  { error: Type.String({ description: 'What is wrong, in words.' }) },
  {
    additionalProperties: false,
    description: 'Why a request was refused.',
    examples: [{ error: 'Not found' }],
  },
);

interface ResponseDocumentation {
  description: string;
  headers?: Record<string, { description: string; schema: unknown; required?: boolean }>;
  content?: Record<string, { schema: unknown; examples?: Record<string, { value: unknown }> }>;
}

/** A route's documentation. A response is the name of a shared schema, a schema of its own, or a full description. */
export interface Documentation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  params?: TObject;
  query?: TObject;
  headers?: TObject;
  /** By content type. */
  body?: Record<string, TSchema>;
  responses: Record<number, string | TSchema | ResponseDocumentation>;
  /** Absent: a Bearer key. */
  security?: Record<string, string[]>[];
}

const PARAMS = 'x-params';
const QUERY = 'x-query';
const HEADERS = 'x-headers';
const BODY = 'x-body';

/**
 * A route's `detail`. Its parameters stay out of Elysia's own validation: the contract checks the key before the path
 * and the query, and is stricter than Elysia.
 */
export function documented({ params, query, headers, body, ...operation }: Documentation) {
  return { ...operation, [PARAMS]: params, [QUERY]: query, [HEADERS]: headers, [BODY]: body } as Record<
    string,
    unknown
  >;
}

const header = (description: string, schema: object = { type: 'string' }) => ({ description, schema });
const always = (description: string, schema?: object) => ({ ...header(description, schema), required: true });

const etagHeader = {
  ETag: always(
    'The tag of this representation. Send it as `If-None-Match` to get a 304 while nothing changed.',
  ),
};

const requestId = 'The id of the request in the log: the `X-Request-Id` that it came with, or a new one.';

/** A 401 names the scheme (RFC 9110 section 11.6.1). */
export const bearerChallenge = {
  'WWW-Authenticate': always('The scheme to authenticate with.', { type: 'string', const: 'Bearer' }),
};

export const notModified: ResponseDocumentation = {
  description: 'The content is still what `If-None-Match` names.',
  headers: etagHeader,
};

/** The refusals of every content endpoint, with all messages; `badRequest` is the endpoint's own. */
export function refusals(badRequest: string): Record<number, ResponseDocumentation> {
  return {
    400: refusal('A path or query parameter is invalid.', [badRequest]),
    401: refusal(
      'The key is missing, or it is unknown, revoked or expired.',
      ['Missing API key', 'INVALID_KEY'],
      bearerChallenge,
    ),
    403: refusal('The key may not read, or belongs to another organization.', [
      'Forbidden',
      'Forbidden: organization access denied',
    ]),
    429: refusal(
      'The key ran into a limit that Unkey keeps for it. Tidings has no limits of its own.',
      ['RATE_LIMITED', 'USAGE_EXCEEDED'],
      limitHeaders,
    ),
    500: internalError('Our fault. The log holds the cause under the `X-Request-Id` of the answer.'),
    503: refusal(
      'Keys cannot be checked right now. Try again after 1, 2 and 4 seconds.',
      ['Authentication service unavailable'],
      { ...limitHeaders, 'X-Request-Id': header(requestId) },
    ),
  };
}

function internalError(description: string): ResponseDocumentation {
  return refusal(description, ['Internal server error'], { 'X-Request-Id': always(requestId) });
}

const wholeNumber = { type: 'integer', minimum: 0 };

/** Section 8 of the spec. */
const limitHeaders = {
  'Retry-After': header('Seconds to wait.', wholeNumber),
  'X-RateLimit-Limit': header(
    'Requests that Unkey allows in a window, where it reports a limit.',
    wholeNumber,
  ),
  'X-RateLimit-Remaining': header(
    'Requests or credits that are left, where Unkey reports them.',
    wholeNumber,
  ),
  'X-RateLimit-Reset': header('When the window ends, in Unix seconds, where Unkey reports it.', wholeNumber),
};

/** The refusals of the webhook receiver (section 7 of the spec). */
export const webhookRefusals: Record<number, ResponseDocumentation> = {
  400: refusal('The path, a header or the payload is invalid.', [
    'Invalid webhook parameters',
    `Missing or invalid header: ${providers[0]?.headerNames.event}`,
    'Malformed payload: release.tag_name is missing',
    'Upload aborted',
  ]),
  401: refusal("The signature was not made with the integration's secret.", ['Invalid webhook signature']),
  403: refusal(
    'The integration is disabled, or the repository of the URL or of the payload is not one of its own.',
    ['Integration is disabled', 'Repository does not belong to the integration'],
  ),
  404: refusal('There is no such integration or repository.', [
    'Integration not found',
    'Repository not found',
  ]),
  408: refusal('The body took more than 15 seconds to arrive.', ['Upload timed out']),
  413: refusal('The body has more than 25 MiB.', ['Payload too large']),
  500: internalError('It could not be processed. Nothing was claimed: a redelivery is processed.'),
  503: refusal(
    'Unfinished uploads of unverified senders fill the memory set aside for them. Try again after `Retry-After`.',
    ['Too many uploads'],
    { 'Retry-After': always('Seconds to wait.', wholeNumber) },
  ),
};

/** A refusal with all its messages as examples. */
export function refusal(
  description: string,
  messages: string[],
  headers?: ResponseDocumentation['headers'],
): ResponseDocumentation {
  const examples = Object.fromEntries(
    messages.map((error) => [error.replaceAll(/\W+/g, '_'), { value: { error } }]),
  );
  const content = { 'application/json': { schema: reference('Error'), examples } };
  return { description, ...(headers === undefined ? {} : { headers }), content };
}

export interface DocumentedApp {
  routes: readonly { method: string; path: string; hooks?: { detail?: Record<string, unknown> } }[];
}

/** Documents all routes with a `detail`. `models` are the shared schemas, by name. */
export function buildOpenApi(app: DocumentedApp, models: Record<string, TSchema>, serverUrl: string) {
  const routes = app.routes.flatMap((route) => {
    const detail = route.hooks?.detail;
    if (detail?.operationId === undefined) return [];
    const {
      [PARAMS]: params,
      [QUERY]: query,
      [HEADERS]: headers,
      [BODY]: body,
      responses,
      ...operation
    } = detail;
    const hooks = {
      detail: {
        ...operation,
        ...(body === undefined ? {} : { requestBody: describeBody(body as Record<string, TSchema>) }),
        responses: describeResponses(responses as Documentation['responses']),
      },
      params: params === undefined ? undefined : jsonSchema(params),
      query: query === undefined ? undefined : jsonSchema(query),
      headers: headers === undefined ? undefined : jsonSchema(headers),
    };
    return [{ ...route, hooks }];
  });
  const source = {
    getGlobalRoutes: () => routes,
    getGlobalDefinitions: () => ({ type: mapValues(models, jsonSchema) }),
  };
  const { paths, components } = toOpenAPISchema(
    source as unknown as Parameters<typeof toOpenAPISchema>[0],
    { staticFile: false },
    undefined,
    undefined,
    OPENAPI_VERSION,
  );
  return {
    openapi: OPENAPI_VERSION,
    info: {
      title: 'Tidings',
      version,
      summary: "Read an organization's posts, and take what providers deliver.",
      description:
        'A small, read-only API for what a team ships. Ask from a server: a key in a browser is a key that everybody has. Retry a 5xx after 1, 2 and 4 seconds; do not retry a 4xx.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: serverUrl }],
    security: [{ apiKey: [] }],
    tags: [
      { name: 'Posts', description: 'What the team published.' },
      { name: 'Webhooks', description: 'What providers deliver.' },
      { name: 'Health', description: 'Whether the service is up.' },
    ],
    paths,
    components: {
      schemas: components.schemas as Record<string, unknown>,
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key of the organization, with the permission `api.read`.',
        },
      },
    },
  };
}

function describeBody(body: Record<string, TSchema>) {
  return { required: true, content: mapValues(body, (schema) => ({ schema: jsonSchema(schema) })) };
}

/** A route that can respond with 304 has an `ETag`. */
function describeResponses(responses: Documentation['responses']): Record<string, ResponseDocumentation> {
  return mapValues(responses, (response) => {
    if (typeof response === 'string') {
      const content = { 'application/json': { schema: reference(response) } };
      return { description: 'OK', ...(304 in responses ? { headers: etagHeader } : {}), content };
    }
    if (isSchema(response)) {
      return {
        description: response.description ?? 'OK',
        content: { 'text/plain': { schema: jsonSchema(response) } },
      };
    }
    return response;
  });
}

function reference(name: string) {
  return { $ref: `#/components/schemas/${name}` };
}

const isSchema = (value: object): value is TSchema => Symbol.for('TypeBox.Kind') in value;

/** TypeBox's pattern for `Type.Record(Type.String(), …)`. Some generators know only `additionalProperties`. */
const ANY_KEY = '^(.*)$';

/**
 * TypeBox's JSON Schema as OpenAPI 3.1 wants it: choices as `enum`, null as a type, free-form objects with
 * `additionalProperties`, references by path.
 */
function jsonSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(jsonSchema);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $ref, anyOf, patternProperties, ...rest } = schema as Record<string, unknown>;
  if (typeof $ref === 'string') return reference($ref);
  const mapped = mapValues(rest, jsonSchema);
  if (patternProperties !== undefined) {
    const values = jsonSchema((patternProperties as Record<string, unknown>)[ANY_KEY]) as object;
    return { ...mapped, additionalProperties: Object.keys(values).length === 0 ? true : values };
  }
  if (!Array.isArray(anyOf)) return mapped;
  const choices = anyOf as Record<string, unknown>[];
  if (choices.every((choice) => 'const' in choice)) {
    return { type: 'string', enum: choices.map((choice) => choice.const), ...mapped };
  }
  const [first, second] = choices.map(jsonSchema) as Record<string, unknown>[];
  if (choices.length === 2 && typeof first?.type === 'string' && second?.type === 'null') {
    return { ...first, type: [first.type, 'null'], ...mapped };
  }
  return { anyOf: choices.map(jsonSchema), ...mapped };
}

function mapValues<In, Out>(record: Record<string, In>, map: (value: In) => Out): Record<string, Out> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

import { toOpenAPISchema } from '@elysiajs/openapi/openapi';
import { Kind, type TObject, type TSchema, Type } from '@sinclair/typebox';
import { version } from '../lib/build.ts';
import { providers } from '../providers/index.ts';

// The OpenAPI document comes from the routes and the TypeBox models, so that it always matches them.

const OPENAPI_VERSION = '3.1.1';

/** The body of every error (section 7 of the spec). */
export const ErrorBody = Type.Object(
  { error: Type.String({ description: 'The cause, as a sentence or a code.' }) },
  {
    additionalProperties: false,
    description: 'The body of every error.',
    examples: [{ error: 'Not found' }],
  },
);

interface ResponseDocumentation {
  description: string;
  headers?: Record<string, { description: string; schema: unknown; required?: boolean }>;
  content?: Record<
    string,
    { schema: unknown; example?: unknown; examples?: Record<string, { value: unknown }> }
  >;
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
  /** The body of a success, where the example of its schema does not fit. */
  example?: unknown;
  /** Absent: a Bearer key. */
  security?: Record<string, string[]>[];
}

/**
 * A route's `detail`. Its parameters stay out of Elysia's own validation: the contract checks the key before the path
 * and the query, and is stricter than Elysia.
 */
export function documented(documentation: Documentation) {
  return documentation as unknown as Record<string, unknown>;
}

const header = (description: string, schema: object = { type: 'string' }) => ({ description, schema });
export const always = (description: string, schema?: object) => ({
  ...header(description, schema),
  required: true,
});

const cachingHeaders = {
  ETag: always(
    'The version of this representation. Send it in `If-None-Match` to get a 304 while the content is the same.',
  ),
  'Cache-Control': always('Keep the response, and revalidate it before each use.', {
    type: 'string',
    const: 'private, no-cache',
  }),
};

const requestId = 'The id of the request in the log: its own `X-Request-Id`, or a new one.';

/** A 401 names the scheme (RFC 9110 section 11.6.1). */
export const bearerChallenge = {
  'WWW-Authenticate': always('The scheme to authenticate with.', { type: 'string', const: 'Bearer' }),
};

export const notModified: ResponseDocumentation = {
  description: 'The content is the same as in the response that `If-None-Match` names.',
  headers: cachingHeaders,
};

const wholeNumber = { type: 'integer', minimum: 0 };

/** Section 8 of the spec. */
const limitHeaders = {
  'Retry-After': header('Seconds to wait.', wholeNumber),
  'X-RateLimit-Limit': header('Requests that Unkey allows in one window.', wholeNumber),
  'X-RateLimit-Remaining': header('Requests or credits left at Unkey.', wholeNumber),
  'X-RateLimit-Reset': header('The end of the window in Unix seconds.', wholeNumber),
};

/** The refusals of every content endpoint, with all messages; `badRequest` is the endpoint's own. */
export function refusals(badRequest: string): Record<number, ResponseDocumentation> {
  return {
    400: refusal('A path or query parameter is invalid.', [badRequest]),
    401: refusal(
      'The key is missing, unknown, revoked or expired.',
      ['Missing API key', 'INVALID_KEY'],
      bearerChallenge,
    ),
    403: refusal('The key lacks the permission `api.read` or belongs to another organization.', [
      'Forbidden',
      'Forbidden: organization access denied',
    ]),
    429: refusal(
      'The key reached a limit at Unkey. Tidings itself limits no authenticated request.',
      ['RATE_LIMITED', 'USAGE_EXCEEDED'],
      limitHeaders,
    ),
    500: internalError(
      'Tidings failed. To find the cause, search the log for the `X-Request-Id` of the response.',
    ),
    503: refusal(
      'Keys or posts are not available right now. Retry after 1, 2 and 4 seconds.',
      [
        'Authentication service unavailable',
        'The database is busy',
        'The database is not available',
        'Service unavailable',
      ],
      { ...limitHeaders, 'X-Request-Id': header(requestId) },
    ),
  };
}

/** The refusals of the webhook receiver (section 7 of the spec). */
export const webhookRefusals: Record<number, ResponseDocumentation> = {
  400: refusal('The path, a header or the payload is invalid.', [
    'Invalid webhook parameters',
    `Missing or invalid header: ${providers[0]?.headerNames.event}`,
    'Malformed payload: release.tag_name is missing',
    'Upload aborted',
  ]),
  401: refusal("The signature does not match the integration's secret.", ['Invalid webhook signature']),
  403: refusal('The integration is disabled, or has no such repository.', [
    'Integration is disabled',
    'Repository does not belong to the integration',
  ]),
  404: refusal('The integration or the repository does not exist.', [
    'Integration not found',
    'Repository not found',
  ]),
  408: refusal('The body took more than 15 seconds to arrive.', ['Upload timed out']),
  413: refusal('The body has more than 25 MiB.', ['Payload too large']),
  500: internalError('Tidings failed and did not claim the delivery id. It processes a redelivery.'),
  503: unavailable(
    'Too many unfinished uploads, or a fault that may pass: the database is locked or away, or its disk is full or fails. Retry after `Retry-After` seconds.',
    ['Too many uploads', 'The database is busy', 'The database is not available', 'Service unavailable'],
  ),
};

/** 503 with `Retry-After`. */
export function unavailable(description: string, errors: string[]): ResponseDocumentation {
  return refusal(description, errors, {
    'Retry-After': always('Seconds to wait.', wholeNumber),
    'X-Request-Id': header(requestId),
  });
}

function internalError(description: string): ResponseDocumentation {
  return refusal(description, ['Internal server error'], { 'X-Request-Id': always(requestId) });
}

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
  return { description, ...(headers && { headers }), content };
}

export interface DocumentedApp {
  routes: readonly { method: string; path: string; hooks?: { detail?: Record<string, unknown> } }[];
}

export type OpenApi = ReturnType<typeof buildOpenApi>;

/** Documents all routes with a `detail`. `models` are the shared schemas, by name. */
export function buildOpenApi(app: DocumentedApp, models: Record<string, TSchema>, serverUrl: string) {
  const routes = app.routes.flatMap((route) => {
    if (route.hooks?.detail?.operationId === undefined) return [];
    const documentation = route.hooks.detail as unknown as Documentation;
    const { params, query, headers, body, responses, example, ...operation } = documentation;
    const content = body && mapValues(body, (schema) => ({ schema: jsonSchema(schema) }));
    const detail = {
      ...operation,
      ...(content && { requestBody: { required: true, content } }),
      responses: describeResponses(responses, example),
    };
    return [{ ...route, hooks: { detail, ...mapValues({ params, query, headers }, jsonSchema) } }];
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
      summary: "Read an organization's posts and receive webhooks.",
      description:
        "A small, read-only API for an organization's posts. Call it from a server: everybody can read a key in a browser.",
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: serverUrl }],
    security: [{ apiKey: [] }],
    tags: [
      {
        name: 'Posts',
        description: 'Read posts. Every request needs an API key with the permission `api.read`.',
      },
      {
        name: 'Webhooks',
        description:
          'Endpoints for providers. A signature authenticates each delivery; no API key is needed.',
      },
      {
        name: 'Feeds',
        description:
          'Published changelog posts for everybody, while the organization has its feeds on. They need no key.',
      },
      { name: 'Health', description: 'Endpoints for load balancers and monitoring. They need no API key.' },
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

/** A route that can respond with 304 has an `ETag`. */
function describeResponses(
  responses: Documentation['responses'],
  example: unknown,
): Record<string, ResponseDocumentation> {
  return mapValues(responses, (response) => {
    if (typeof response === 'string') {
      const body = { schema: reference(response), ...(example !== undefined && { example }) };
      const content = { 'application/json': body };
      return { description: 'OK', ...(304 in responses && { headers: cachingHeaders }), content };
    }
    if (!(Kind in response)) return response as ResponseDocumentation;
    const content = { 'text/plain': { schema: jsonSchema(response) } };
    return { description: response.description ?? 'OK', content };
  });
}

function reference(name: string) {
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * TypeBox's JSON Schema as generators of clients know it: choices as `enum`, null as a type, free-form objects with
 * `additionalProperties`, references by path.
 */
function jsonSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(jsonSchema);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $ref, anyOf, patternProperties, ...rest } = schema as Record<string, unknown>;
  if (typeof $ref === 'string') return reference($ref);
  const mapped = mapValues(rest, jsonSchema);
  if (patternProperties !== undefined) return { ...mapped, additionalProperties: true };
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

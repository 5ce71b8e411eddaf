import { toOpenAPISchema } from '@elysiajs/openapi/openapi';
import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import type { AnyElysia, DocumentDecoration } from 'elysia';
import { version } from '../lib/build.ts';
import { providers } from '../providers/index.ts';

// The OpenAPI document comes from the schemas of the routes. `detail` adds what schemas cannot say, and what Tidings
// validates itself.

const OPENAPI_VERSION = '3.1.1';

export const ErrorBody = Type.Object(
  { error: Type.String({ description: 'The cause, as a sentence or a code.' }) },
  {
    additionalProperties: false,
    description: 'The body of every error.',
    examples: [{ error: 'Not found' }],
  },
);

type Responses = NonNullable<DocumentDecoration['responses']>;
type ResponseDocumentation = Extract<Responses[string], { description: string }>;
type Media = NonNullable<ResponseDocumentation['content']>[string];
type Parameters = NonNullable<DocumentDecoration['parameters']>;

/** Parameters that a route's own schemas leave out: headers, and those that a handler validates itself. */
export function parameters(
  location: 'path' | 'query' | 'header',
  { properties, required }: TObject,
): Parameters {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: location,
    required: required?.includes(name) ?? false,
    schema,
  }));
}

export function jsonBody(
  schema: TSchema,
  more: Pick<Media, 'example' | 'examples'> = {},
): Record<string, Media> {
  return { 'application/json': { schema, ...more } };
}

const header = (description: string, schema: TSchema = Type.String()) => ({ description, schema });
export const always = (description: string, schema?: TSchema) => ({
  ...header(description, schema),
  required: true,
});

const cachingHeaders = {
  ETag: always(
    'The version of this representation. Send it in `If-None-Match` to get a 304 while the content is the same.',
  ),
  'Cache-Control': always(
    'Keep the response, and revalidate it before each use.',
    Type.Literal('private, no-cache'),
  ),
};

const requestId = 'The ID of the request in the log: its own `X-Request-Id`, or a new one.';

/** A 401 names the scheme (RFC 9110 section 11.6.1). */
export const bearerChallenge = {
  'WWW-Authenticate': always('The scheme to authenticate with.', Type.Literal('Bearer')),
};

export const notModified: ResponseDocumentation = {
  description: 'The content is the same as in the response that `If-None-Match` names.',
  headers: cachingHeaders,
};

const wholeNumber = Type.Integer({ minimum: 0 });

const limitHeaders = {
  'Retry-After': header('Seconds to wait.', wholeNumber),
  'X-RateLimit-Limit': header('Requests that Unkey allows in one window.', wholeNumber),
  'X-RateLimit-Remaining': header('Requests or credits left at Unkey.', wholeNumber),
  'X-RateLimit-Reset': header('The end of the window in Unix seconds.', wholeNumber),
};

/** The refusals of every content endpoint, with all messages; `badRequest` is the endpoint's own. */
export function refusals(badRequest: string): Responses {
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

export const webhookRefusals: Responses = {
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
  500: internalError('Tidings failed and did not claim the delivery ID. It processes a redelivery.'),
  503: unavailable(
    'Too many unfinished uploads, or a fault that may pass: the database is locked or away, or its disk is full or fails. Retry after `Retry-After` seconds.',
    ['Too many uploads', 'The database is busy', 'The database is not available', 'Service unavailable'],
  ),
};

export function unavailable(description: string, errors: string[]): ResponseDocumentation {
  return refusal(description, errors, {
    'Retry-After': always('Seconds to wait.', wholeNumber),
    'X-Request-Id': header(requestId),
  });
}

function internalError(description: string): ResponseDocumentation {
  return refusal(description, ['Internal server error'], { 'X-Request-Id': always(requestId) });
}

export function refusal(
  description: string,
  messages: string[],
  headers?: ResponseDocumentation['headers'],
): ResponseDocumentation {
  const examples = Object.fromEntries(
    messages.map((error) => [error.replaceAll(/\W+/g, '_'), { value: { error } }]),
  );
  const content = jsonBody(ErrorBody, { examples });
  return { description, ...(headers && { headers }), content };
}

export type OpenApi = ReturnType<typeof buildOpenApi>;

export function buildOpenApi(
  routes: AnyElysia['routes'],
  models: Record<string, TSchema>,
  serverUrl: string,
) {
  const named = new Map(Object.entries(models).map(([name, schema]): [unknown, string] => [schema, name]));
  const documented = routes.flatMap((route) => {
    const { params, query, response, detail }: Hooks = route.hooks;
    if (detail?.operationId === undefined) return [];
    const responses = describeResponses(response, detail.responses);
    const hooks = jsonSchema({ params, query, detail: { ...detail, responses } }, named);
    return [{ ...route, hooks: hooks as Hooks }];
  });
  const source = { getGlobalRoutes: () => documented };
  const { paths } = toOpenAPISchema(
    source as unknown as AnyElysia,
    { staticFile: false },
    undefined,
    undefined,
    OPENAPI_VERSION,
  );
  // A schema would replace the parameters of `detail`.
  for (const { path, method, hooks } of documented) {
    const { parameters: own } = hooks.detail ?? {};
    const operation = paths[path.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase() as 'get'];
    if (operation === undefined || own === undefined) continue;
    const names = own.map(nameOf);
    const others = operation.parameters?.filter((each) => !names.includes(nameOf(each))) ?? [];
    operation.parameters = [...others, ...own];
  }
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
      schemas: mapValues(models, (schema) => jsonSchema({ ...schema }, named)),
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

interface Hooks {
  params?: TObject;
  query?: TObject;
  response?: Record<string, TSchema>;
  detail?: DocumentDecoration;
}

const nameOf = (parameter: Parameters[number]) => ('name' in parameter ? parameter.name : parameter.$ref);

/** Joins the schemas of responses and what `detail` says about them. A route that can respond with 304 has an `ETag`. */
function describeResponses(schemas: Hooks['response'] = {}, described: Responses = {}): Responses {
  return mapValues({ ...schemas, ...described }, (_, status) => {
    const { [status]: schema } = schemas;
    const isText = schema?.type === 'string';
    return {
      description: (isText && schema.description) || 'OK',
      ...(status === '200' && 304 in described && { headers: cachingHeaders }),
      ...(schema && { content: { [isText ? 'text/plain' : 'application/json']: { schema } } }),
      ...described[status],
    };
  });
}

/** TypeBox's JSON Schema as generators of clients know it: choices as `enum`, references by path. */
function jsonSchema(schema: unknown, named: ReadonlyMap<unknown, string>): unknown {
  const convert = (each: unknown) => jsonSchema(each, named);
  if (Array.isArray(schema)) return schema.map(convert);
  if (typeof schema !== 'object' || schema === null) return schema;
  if (named.has(schema)) return { $ref: `#/components/schemas/${named.get(schema)}` };
  const { anyOf, patternProperties, ...rest } = schema as Record<string, unknown>;
  const mapped = mapValues(rest, convert);
  if (patternProperties !== undefined) return { ...mapped, additionalProperties: true };
  if (!Array.isArray(anyOf)) return mapped;
  const choices = anyOf as Record<string, unknown>[];
  if (choices.every((choice) => 'const' in choice)) {
    return { type: 'string', enum: choices.map((choice) => choice.const), ...mapped };
  }
  const [first, second] = choices.map(convert) as Record<string, unknown>[];
  if (choices.length === 2 && typeof first?.type === 'string' && second?.type === 'null') {
    return { ...first, type: [first.type, 'null'], ...mapped };
  }
  return { anyOf: choices.map(convert), ...mapped };
}

function mapValues<In, Out>(
  record: Record<string, In>,
  map: (value: In, key: string) => Out,
): Record<string, Out> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}

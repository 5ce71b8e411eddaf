import { type Static, type TProperties, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { refusals } from './refusal.ts';

// The request bodies with the bounds that Unkey's own OpenAPI document gives them. Fields that Tidings has no
// use for are left out, and so refused.

const closed = <Properties extends TProperties>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: false });

const Id = Type.String({ minLength: 3, maxLength: 255, pattern: '^[a-zA-Z0-9_]+$' });
const Permission = Type.String({ minLength: 1, maxLength: 128, pattern: '^[a-zA-Z0-9_:\\-.*]+$' });

/** The latest expiry that Unkey takes: 1 January 2100. */
const MAX_EXPIRES = 4_102_444_800_000;

const bodies = {
  'keys.verifyKey': closed({
    key: Type.String({ minLength: 1, maxLength: 512 }),
    // Unkey takes a query with AND, OR and parentheses; one permission is one too.
    permissions: Type.Optional(Permission),
  }),
  'keys.createKey': closed({
    apiId: Id,
    prefix: Type.Optional(Type.String({ minLength: 1, maxLength: 16, pattern: '^[a-zA-Z0-9_]+$' })),
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    byteLength: Type.Optional(Type.Integer({ minimum: 16, maximum: 255 })),
    externalId: Type.Optional(Type.String({ minLength: 1, maxLength: 255, pattern: '^[a-zA-Z0-9_.-]+$' })),
    permissions: Type.Optional(Type.Array(Permission, { maxItems: 1000 })),
    expires: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_EXPIRES })),
    enabled: Type.Optional(Type.Boolean()),
    recoverable: Type.Optional(Type.Boolean()),
  }),
  'keys.whoami': closed({ key: Type.String({ minLength: 1, maxLength: 512 }) }),
  'keys.getKey': closed({ keyId: Id, decrypt: Type.Optional(Type.Boolean()) }),
  'keys.updateKey': closed({
    keyId: Id,
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    enabled: Type.Optional(Type.Boolean()),
  }),
  'keys.deleteKey': closed({ keyId: Id, permanent: Type.Optional(Type.Boolean()) }),
  'apis.getApi': closed({ apiId: Id }),
  'apis.listKeys': closed({
    apiId: Type.String({ minLength: 1 }),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
    cursor: Type.Optional(Type.String()),
    externalId: Type.Optional(Type.String({ minLength: 1 })),
    decrypt: Type.Optional(Type.Boolean()),
    revalidateKeysCache: Type.Optional(Type.Boolean()),
  }),
};

export type Operation = keyof typeof bodies;
export type Body<Name extends Operation> = Static<(typeof bodies)[Name]>;

export function isOperation(name: string): name is Operation {
  return Object.hasOwn(bodies, name);
}

/** The body as the operation wants it. Throws Unkey's 400, which names each wrong field. */
export function checkedBody(operation: Operation, text: string): unknown {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw refusals.badBody([{ location: 'body', message: 'is not JSON' }]);
  }
  const errors = [...Value.Errors(bodies[operation], body)];
  if (errors.length === 0) return body;
  throw refusals.badBody(
    errors.map(({ path, message }) => ({ location: `body${path.replaceAll('/', '.')}`, message })),
  );
}

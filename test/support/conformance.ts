import { expect } from 'bun:test';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Fetch } from '../../src/http/request.ts';

interface OpenApi {
  paths: Record<string, Record<string, { responses: Record<string, Documented> }>>;
}

interface Documented {
  headers?: Record<string, { required?: boolean }>;
  content?: Record<string, { schema: unknown }>;
}

/** Paths that the document leaves out: its own, that of the reference page, and what leads there. */
const UNDOCUMENTED = ['/', '/openapi.json', '/docs'];

/** Pages for people and their files have tests of their own. */
const isForPeople = (pathname: string) => /^\/(dashboard|setup)(\/|$)|^\/docs\//.test(pathname);

/** Checks answers against the OpenAPI document of an app, which is opened for the first answer that has one. */
export function conformance(open: () => Fetch) {
  let ready: ReturnType<typeof loadDocument> | null = null;
  const validators = new Map<string, ValidateFunction>();

  return {
    async check(method: string, path: string, response: Response): Promise<void> {
      const pathname = path.split('?')[0] ?? '';
      if (isForPeople(pathname)) return;
      ready ??= loadDocument(open());
      const { document, ajv } = await ready;
      const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
      const [template] = Object.entries(document.paths).find(([each]) => matches(each, pathname)) ?? [];
      const operation = template === undefined ? undefined : document.paths[template]?.[verb];

      if (operation === undefined) {
        if (UNDOCUMENTED.includes(pathname) && response.status < 400) return;
        expect([404, 405, 413]).toContain(response.status);
        await expectError(response, method);
        return;
      }
      // Any path can be refused for its size.
      const documented = operation.responses[response.status];
      expect(documented, `${response.status} is not documented for ${verb} ${template}`).toBeDefined();
      if (response.status >= 400) await expectError(response, method);
      expectHeaders(response, documented);

      const contents = Object.entries(documented?.content ?? {});
      const sent = response.headers.get('content-type') ?? '';
      const [type, body] = contents.find(([each]) => sent.startsWith(each)) ?? contents[0] ?? [];
      if (type === undefined || body === undefined || method === 'HEAD') {
        expect(await response.text()).toBe('');
        return;
      }
      expect(sent).toStartWith(type);
      const text = await bodyText(response);
      const value = type === 'application/json' ? JSON.parse(text) : text;
      const key = JSON.stringify(body.schema);
      const validate =
        validators.get(key) ??
        ajv.compile({ ...(body.schema as object), ...(key.includes('$ref') ? absolute(body.schema) : {}) });
      validators.set(key, validate);
      expect(validate(value), JSON.stringify(validate.errors)).toBe(true);
    },
  };
}

async function loadDocument(fetch: Fetch) {
  const response = await fetch(new Request('http://localhost/openapi.json'));
  const document = (await response.json()) as OpenApi;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, 'openapi');
  return { document, ajv };
}

/** Headers that clients act upon. */
const CLIENT_HEADERS = [
  'etag',
  'retry-after',
  'www-authenticate',
  'x-request-id',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
];

/** Each such header that is sent is documented, and each that is documented as required is sent. */
function expectHeaders(response: Response, documented: Documented | undefined): void {
  const headers = Object.entries(documented?.headers ?? {});
  const names = headers.map(([name]) => name.toLowerCase());
  const undocumented = CLIENT_HEADERS.filter((name) => response.headers.has(name) && !names.includes(name));
  const missing = headers.filter(([name, { required }]) => required === true && !response.headers.has(name));
  expect({ status: response.status, undocumented, missing }).toEqual({
    status: response.status,
    undocumented: [],
    missing: [],
  });
}

async function bodyText(response: Response): Promise<string> {
  if (response.headers.get('content-encoding') !== 'gzip') return response.text();
  return new TextDecoder().decode(Bun.gunzipSync(await response.arrayBuffer()));
}

async function expectError(response: Response, method: string): Promise<void> {
  expect(response.headers.get('content-type')).toBe('application/json');
  if (method === 'HEAD') return;
  const body = (await response.clone().json()) as Record<string, unknown>;
  expect(Object.keys(body)).toEqual(['error']);
  expect(body.error).toBeString();
}

function matches(template: string, pathname: string): boolean {
  return new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(pathname);
}

/** A reference into the document, as Ajv knows it. */
function absolute(schema: unknown): { $ref: string } {
  return { $ref: `openapi${(schema as { $ref: string }).$ref}` };
}

import { join, resolve } from 'node:path';

// `bun test/support/github-api/extract.ts FOLDER` writes test/fixtures/github-api/openapi.json from an unpacked package
// @octokit/openapi, which is too large to depend on: GitHub's own description of the routes that Tidings uses, in JSON
// Schema 2020-12, without prose.

const ROUTES = [
  'GET /user/repos',
  'GET /repos/{owner}/{repo}',
  'GET /repos/{owner}/{repo}/releases',
  'GET /repos/{owner}/{repo}/pulls',
  'GET /repos/{owner}/{repo}/pulls/{pull_number}',
  'GET /repos/{owner}/{repo}/pulls/{pull_number}/files',
  'GET /repos/{owner}/{repo}/git/ref/{ref}',
  'GET /repos/{owner}/{repo}/commits',
  'GET /repos/{owner}/{repo}/commits/{ref}',
  'GET /repos/{owner}/{repo}/compare/{basehead}',
  'GET /repos/{owner}/{repo}/activity',
  'GET /repos/{owner}/{repo}/hooks',
  'POST /repos/{owner}/{repo}/hooks',
  'GET /repos/{owner}/{repo}/hooks/{hook_id}',
  'PATCH /repos/{owner}/{repo}/hooks/{hook_id}',
  'DELETE /repos/{owner}/{repo}/hooks/{hook_id}',
  'POST /repos/{owner}/{repo}/hooks/{hook_id}/pings',
  'GET /repos/{owner}/{repo}/hooks/{hook_id}/deliveries',
  'POST /repos/{owner}/{repo}/hooks/{hook_id}/deliveries/{delivery_id}/attempts',
  'POST /app-manifests/{code}/conversions',
  'GET /app',
  'GET /app/installations',
  'DELETE /app/installations/{installation_id}',
  'POST /app/installations/{installation_id}/access_tokens',
  'GET /installation/repositories',
  'GET /app/hook/config',
  'PATCH /app/hook/config',
  'GET /app/hook/deliveries',
  'POST /app/hook/deliveries/{delivery_id}/attempts',
];
const ENTERPRISE = ['3.17', '3.18', '3.19'];
/** The schemas of refusals that a route's description does not list. */
const ERRORS = ['#/components/schemas/basic-error', '#/components/schemas/validation-error'];
const PROSE = ['description', 'example', 'examples', 'externalDocs', 'summary', 'x-multi-segment'];
/** Whole repositories in a repository: none of them is required. */
const NESTED = ['parent', 'source', 'template_repository', 'organization'];

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Node = { [key: string]: Json };

const folder = process.argv[2] ?? '';
const read = async (path: string): Promise<Node> => (await Bun.file(join(folder, path)).json()) as Node;
const description = await read('generated/api.github.com.json');
const { version } = await read('package.json');

/** The value at a path of keys. */
function at(document: Node, ...keys: string[]): Node {
  return keys.reduce((node, key) => (node?.[key] ?? {}) as Node, document);
}
const target = (document: Node, ref: string) => at(document, ...ref.split('/').slice(1));

/** Follows references but to schemas, which keep their names. */
function inlined(document: Node, node: Json): Json {
  if (Array.isArray(node)) return node.map((each) => inlined(document, each));
  if (typeof node !== 'object' || node === null) return node;
  const ref = node.$ref;
  if (typeof ref === 'string') {
    return ref.startsWith('#/components/schemas/') ? { $ref: ref } : inlined(document, target(document, ref));
  }
  const kept = Object.entries(node).filter(([key, value]) => !isProse(key, value));
  return nullable(Object.fromEntries(kept.map(([key, value]) => [key, inlined(document, value)])));
}

/** A property may be called `description` too; its value is a schema. */
function isProse(key: string, value: Json): boolean {
  return (
    PROSE.includes(key) &&
    !(typeof value === 'object' && value !== null && ('type' in value || '$ref' in value))
  );
}

/** OpenAPI 3.0 says `nullable` where JSON Schema says so in the type. */
function nullable({ nullable: isNullable, ...schema }: Node): Node {
  if (isNullable !== true) return schema;
  return { anyOf: [schema, { type: 'null' }] };
}

// The list has its own copy of an installation, whose account would have to be a person and an enterprise at once.
const installations = at(description, 'paths', '/app/installations', 'get', 'responses', '200', 'content');
at(installations, 'application/json', 'schema').items = { $ref: '#/components/schemas/installation' };

function operationOf(document: Node, route: string): Node | null {
  const [method = '', path = ''] = route.split(' ');
  const operation = at(document, 'paths', path, method.toLowerCase());
  if (Object.keys(operation).length === 0) return null;
  const { parameters = [], requestBody = {}, responses = {} } = operation;
  return inlined(document, { parameters, requestBody, responses }) as Node;
}

function withSchemas(document: Node, roots: Json): Node {
  const schemas: Node = {};
  const visit = (node: Json): void => {
    for (const [, ref = ''] of JSON.stringify(node).matchAll(/"\$ref":"([^"]+)"/g)) {
      const name = ref.split('/').pop() ?? '';
      if (name in schemas) continue;
      schemas[name] = inlined(document, target(document, ref));
      visit(schemas[name]);
    }
  };
  visit(roots);
  return schemas;
}

/** Everything about a route in one text, for comparison. */
function meaningOf(document: Node, route: string): string {
  const operation = operationOf(document, route);
  return operation === null ? 'missing' : JSON.stringify([operation, withSchemas(document, operation)]);
}

const operations = Object.fromEntries(ROUTES.map((route) => [route, operationOf(description, route)]));
const schemas = withSchemas(description, [operations, ERRORS.map(($ref) => ({ $ref }))]);
for (const name of ['full-repository', 'repository']) {
  const properties = at(schemas, name, 'properties');
  for (const nested of NESTED) delete properties[nested];
}
const used = withSchemas({ components: { schemas } }, [operations, ERRORS.map(($ref) => ({ $ref }))]);

const enterprise: Node = {};
for (const release of ENTERPRISE) {
  const document = await read(`generated/ghes-${release}.json`);
  const requestOf = (from: Node, route: string) => {
    const { parameters = [], requestBody = {} } = operationOf(from, route) ?? {};
    return JSON.stringify([parameters, requestBody, withSchemas(from, [parameters, requestBody])]);
  };
  enterprise[release] = {
    missing: ROUTES.filter((route) => meaningOf(document, route) === 'missing'),
    withOtherRequests: ROUTES.filter((route) => requestOf(document, route) !== requestOf(description, route)),
  };
}

const repository = {
  ...at(description, 'components', 'examples', 'full-repository-default-response', 'value'),
};
for (const nested of NESTED) delete repository[nested];

const from = `@octokit/openapi ${version}, generated/api.github.com.json`;
const path = resolve(import.meta.dir, '../../fixtures/github-api/openapi.json');
/** A line for each entry, so that a difference shows which route or schema it is about. */
const lines = (entries: object) =>
  Object.entries(entries).map(([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)}`);
const parts = { enterprise, operations, schemas: used, repository };
const body = Object.entries(parts).map(([key, value]) => ` "${key}": {\n${lines(value).join(',\n')}\n }`);
await Bun.write(path, `{\n${[` "from": "${from}"`, ...body].join(',\n')}\n}\n`);

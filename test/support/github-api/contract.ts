import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

interface Parameter {
  name: string;
  in: 'path' | 'query';
  required?: boolean;
  schema: object;
}

interface Operation {
  parameters: Parameter[];
  requestBody: { required?: boolean; content?: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

type Schema = { [key: string]: unknown };

interface Description {
  from: string;
  /** By release of Enterprise Server: the routes that it lacks, and those with other requests. */
  enterprise: Record<string, { missing: string[]; withOtherRequests: string[] }>;
  operations: Record<string, Operation>;
  schemas: Record<string, Schema>;
  /** A repository as GitHub shows it: octocat/Hello-World. */
  repository: Schema;
}

/** GitHub's own description of the routes that Tidings uses. */
export const description = (await Bun.file(
  join(import.meta.dir, '../../fixtures/github-api/openapi.json'),
).json()) as Description;

export interface ApiRequest {
  method: string;
  /** Encoded, without the base URL's path, and without the query. */
  path: string;
  query: Record<string, string>;
  body: unknown;
}

const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false, coerceTypes: false });
addFormats.default(ajv);
ajv.addSchema({ $id: 'github', components: { schemas: description.schemas } });
const compiled = new Map<string, ValidateFunction>();

/** The route, such as `GET /repos/{owner}/{repo}`, and its parameters; null for an unknown path. */
export function routeOf(
  method: string,
  path: string,
): { route: string; params: Record<string, string> } | null {
  for (const route of Object.keys(description.operations)) {
    const [verb, template = ''] = route.split(' ');
    const pattern = new RegExp(`^${template.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);
    const match = verb === method ? pattern.exec(path) : null;
    if (match === null) continue;
    const params = Object.entries({ ...match.groups }).map(([name, value]) => [name, decoded(value)]);
    return { route, params: Object.fromEntries(params) };
  }
  return null;
}

export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The ways in which a request breaks GitHub's description. */
export function requestViolations({ method, path, query, body }: ApiRequest): string[] {
  const found = routeOf(method, path);
  const operation = description.operations[found?.route ?? ''];
  if (found === null || operation === undefined) return [`there is no ${method} ${path}`];
  const { parameters, requestBody } = operation;
  const given: Record<string, Record<string, string>> = { path: found.params, query };
  const violations = parameters.flatMap(({ name, in: where, required, schema }) => {
    const value = given[where]?.[name];
    if (value === undefined) return required ? [`${where} ${name} is missing`] : [];
    return violationsOf(`${found.route} ${name}`, schema, typed(value, schema));
  });
  const known = parameters.filter((each) => each.in === 'query').map(({ name }) => name);
  violations.push(
    ...Object.keys(query)
      .filter((name) => !known.includes(name))
      .map((name) => `unknown query ${name}`),
  );
  const schema = requestBody.content?.['application/json']?.schema;
  if (schema === undefined) {
    if (body !== null) violations.push(`${found.route} takes no body`);
  } else if (body !== null || requestBody.required) {
    violations.push(...violationsOf(`${found.route} body`, closed(schema), body));
  }
  return violations;
}

/** The ways in which a response breaks GitHub's description. `body` is null for an empty one. */
export function responseViolations({ method, path }: ApiRequest, status: number, body: unknown): string[] {
  const route = routeOf(method, path)?.route ?? '';
  const documented = description.operations[route]?.responses[status];
  // The description lists few of the refusals that any route may give.
  if (documented === undefined && status < 400) return [`${route} does not respond with ${status}`];
  const schema = documented?.content?.['application/json']?.schema ?? errorSchema(documented, status);
  if (schema !== null) return violationsOf(`${route} ${status}`, schema, body);
  return body === null ? [] : [`${route} has an empty response with ${status}`];
}

function errorSchema(documented: object | undefined, status: number): Schema | null {
  if (documented !== undefined) return null;
  return { $ref: `#/components/schemas/${status === 422 ? 'validation-error' : 'basic-error'}` };
}

function violationsOf(name: string, schema: object, value: unknown): string[] {
  const validate = compiled.get(name) ?? ajv.compile(absolute(schema) as Schema);
  compiled.set(name, validate);
  validate(value);
  return (validate.errors ?? [])
    .slice(0, 5)
    .map(({ instancePath, message }) => `${name}${instancePath} ${message}`);
}

/** Parameters come as text. */
function typed(value: string, schema: object): unknown {
  const isInteger = 'type' in schema && schema.type === 'integer';
  return isInteger && /^\d+$/.test(value) ? Number(value) : value;
}

function absolute(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"github#/'));
}

/** Refuses unknown fields, which GitHub's schemas allow and Tidings never sends. */
function closed(schema: Schema): Schema {
  const ref =
    typeof schema.$ref === 'string' ? description.schemas[schema.$ref.split('/').pop() ?? ''] : undefined;
  if (ref !== undefined) return closed(ref);
  const inner = Object.entries(schema).map(([key, value]) => [
    key,
    isSchema(value) ? closed(value) : closedList(value),
  ]);
  const copy = Object.fromEntries(inner) as Schema;
  return 'properties' in copy ? { ...copy, additionalProperties: false } : copy;
}

const closedList = (value: unknown) =>
  Array.isArray(value) ? value.map((each) => (isSchema(each) ? closed(each) : each)) : value;

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

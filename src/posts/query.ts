import { TypeCompiler } from '@sinclair/typebox/compiler';
import { AppError } from '../lib/app-error.ts';
import { isId } from '../lib/ids.ts';
import { contentTypes, ListQuery, type PageSelection, PostFilter, type PostSelection } from './model.ts';

// The query string is read here and not by Elysia, which is lenient where the contract is strict: it splits
// commas, takes `0x10` and `1e2` for numbers and lets the last of a repeated parameter win.

const listQuery = TypeCompiler.Compile(ListQuery);
const postFilter = TypeCompiler.Compile(PostFilter);

const listNames = knownNames(ListQuery.properties);
const filterNames = knownNames(PostFilter.properties);

/** Parameter names, and the same names as `plainName` writes them. */
function knownNames(properties: object): { exact: ReadonlySet<string>; plain: ReadonlySet<string> } {
  const names = Object.keys(properties);
  return { exact: new Set(names), plain: new Set(names.map(plainName)) };
}

/** A name without array brackets, punctuation and case: `Content-Type[0]` and `contentType` become one. */
function plainName(name: string): string {
  return name.replace(/\[.*$/s, '').replaceAll(/[\W_]/g, '').toLowerCase();
}

/** Ignoring `status[]` or `Limit` would return unfiltered posts to a client that asked for a filter. */
function hasMisspelledName(parameters: URLSearchParams, names: ReturnType<typeof knownNames>): boolean {
  for (const name of parameters.keys()) {
    if (!names.exact.has(name) && names.plain.has(plainName(name))) return true;
  }
  return false;
}

/** Section 4.1 of the spec, its defaults filled in. Throws `AppError` 400 for anything invalid. */
export function parseListQuery(url: string): PageSelection {
  const parameters = searchParameters(url);
  if (hasMisspelledName(parameters, listNames)) throw new AppError(400, 'Invalid query parameters');
  const query = {
    ...filterValues(parameters),
    ...present('limit', decimal(parameters.getAll('limit'))),
    ...present('page', decimal(parameters.getAll('page'))),
    ...present('sort', single(parameters.getAll('sort'))),
  };
  if (!listQuery.Check(query)) throw new AppError(400, 'Invalid query parameters');
  return { ...selection(query), limit: query.limit ?? 10, page: query.page ?? 1, sort: query.sort ?? 'desc' };
}

/** Section 4.2 of the spec. Throws `AppError` 400 for a malformed id or filter. */
export function parsePostQuery(id: unknown, url: string): PostSelection & { postId: string } {
  const parameters = searchParameters(url);
  const query = filterValues(parameters);
  if (!isId(id) || !postFilter.Check(query) || hasMisspelledName(parameters, filterNames)) {
    throw new AppError(400, 'Invalid path params or query');
  }
  return { ...selection(query), postId: id };
}

function searchParameters(url: string): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : url.slice(start + 1));
}

/** Repeated parameters as lists, each value once. */
function filterValues(parameters: URLSearchParams) {
  return {
    ...present('status', several(parameters.getAll('status'))),
    ...present('contentType', several(parameters.getAll('contentType'))),
  };
}

function selection(query: {
  status?: PostSelection['statuses'];
  contentType?: PostSelection['contentTypes'];
}) {
  return {
    statuses: query.status ?? ['published' as const],
    contentTypes: query.contentType ?? [...contentTypes],
  };
}

const present = (name: string, value: unknown) => (value === undefined ? {} : { [name]: value });

const several = (values: string[]) => (values.length === 0 ? undefined : [...new Set(values)]);

/** The one value; the whole list, which no schema takes, when it is given more than once. */
const single = (values: string[]) => (values.length > 1 ? values : values[0]);

/** A plain decimal integer as a number; anything else stays as it is, for the schema to refuse. */
function decimal(values: string[]) {
  const value = single(values);
  return typeof value === 'string' && /^[1-9]\d{0,15}$/.test(value) ? Number(value) : value;
}

import { Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { Elysia } from 'elysia';
import type { Deps } from '../deps.ts';
import { documented, notModified, refusals } from '../http/openapi.ts';
import { requireApiKey } from '../http/request.ts';
import { privateJson } from '../http/respond.ts';
import { AppError } from '../lib/app-error.ts';
import { ID_PATTERN, isId } from '../lib/ids.ts';
import { contentTypes, ListQuery, type PageSelection, PostFilter, type PostSelection } from './model.ts';
import { createPages, renderPost } from './pages.ts';

const OrganizationId = Type.String({
  pattern: ID_PATTERN,
  description: 'Organization identifier; the key must belong to this organization.',
  examples: ['org_3Qv8rT5kWn2LxYbZ7cJd4M'],
});
const requestHeaders = Type.Object({
  'If-None-Match': Type.Optional(
    Type.String({ description: 'The `ETag` of an earlier response: 304 while the content is the same.' }),
  ),
  'X-Request-Id': Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_.:-]{8,128}$',
      description: 'Your id for this request in the log. Tidings replaces a malformed one.',
    }),
  ),
});
const PostId = Type.String({
  pattern: ID_PATTERN,
  description: 'Post identifier.',
  examples: ['post_3Qv8rT5kWn2LxYbZ7cJd4M'],
});

/** The content API: sections 4.1 and 4.2 of the spec. The key is checked before the path and the query. */
export function posts(deps: Pick<Deps, 'db' | 'keys' | 'metrics'>) {
  const pages = createPages(deps.db);

  return new Elysia({ name: 'posts' })
    .get(
      '/v1/:organizationId/posts',
      async ({ request, params: { organizationId } }) => {
        await requireApiKey(deps, request.headers, organizationId, 'api.read');
        return privateJson(request, await pages.renderPage(organizationId, parseListQuery(request.url)));
      },
      {
        detail: documented({
          operationId: 'listPosts',
          tags: ['Posts'],
          summary: 'List posts',
          description:
            "One page of the organization's posts, published ones unless `status` says otherwise. A filter that nothing matches, or a page past the end, gives an empty list. A parameter name in another spelling, such as `status[]` or `Limit`, is refused; unrelated names are ignored.",
          params: Type.Object({ organizationId: OrganizationId }),
          query: ListQuery,
          headers: requestHeaders,
          responses: { 200: 'PostList', 304: notModified, ...refusals('Invalid query parameters') },
        }),
      },
    )
    .get(
      '/v1/:organizationId/posts/:postId',
      async ({ request, params: { organizationId, postId } }) => {
        await requireApiKey(deps, request.headers, organizationId, 'api.read');
        const { postId: id, ...selection } = parsePostQuery(postId, request.url);
        return privateJson(request, await renderPost(deps.db, organizationId, id, selection));
      },
      {
        detail: documented({
          operationId: 'getPost',
          tags: ['Posts'],
          summary: 'Get one post',
          description:
            'The post, or null with status 200 (never 404) when it does not exist, belongs to another organization, or does not match the filters: a draft is found only with `status=draft`. A parameter name in another spelling, such as `status[]` or `contenttype`, is refused; unrelated names are ignored.',
          params: Type.Object({ organizationId: OrganizationId, postId: PostId }),
          query: PostFilter,
          headers: requestHeaders,
          responses: { 200: 'PostResult', 304: notModified, ...refusals('Invalid path params or query') },
        }),
      },
    );
}

// Elysia's own reading of the query string is too lenient for the contract: it splits commas, takes `0x10` and `1e2`
// for numbers, and lets the last of a repeated parameter win.

const listQuery = TypeCompiler.Compile(ListQuery);
const postFilter = TypeCompiler.Compile(PostFilter);

const DEFAULT_PAGE: PageSelection = { ...selection({}), limit: 10, page: 1, sort: 'desc' };

const listNames = knownNames(ListQuery.properties);
const filterNames = knownNames(PostFilter.properties);

/** Parameter names, exact and as `plainName` returns them. */
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

/** Section 4.1 of the spec, with its defaults. Throws `AppError` 400. */
function parseListQuery(url: string): PageSelection {
  if (!url.includes('?')) return DEFAULT_PAGE;
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
function parsePostQuery(id: unknown, url: string): PostSelection & { postId: string } {
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

/** The only value; for a repeated parameter the whole list, which no schema accepts. */
const single = (values: string[]) => (values.length > 1 ? values : values[0]);

/** A plain decimal integer as a number; anything else unchanged, for the schema to refuse. */
function decimal(values: string[]) {
  const value = single(values);
  return typeof value === 'string' && /^[1-9]\d{0,15}$/.test(value) ? Number(value) : value;
}

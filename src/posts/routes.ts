import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { Elysia } from 'elysia';
import type { Storage } from '../../db/engine.ts';
import type { Deps } from '../deps.ts';
import { documented, notModified, refusals } from '../http/openapi.ts';
import { isCurrent, privateJson, type Rendered } from '../http/respond.ts';
import { AppError } from '../lib/app-error.ts';
import { ID_PATTERN, isId } from '../lib/text.ts';
import { createAdmission } from './admission.ts';
import { contentTypes, ListQuery, PostFilter, type PostSelection } from './model.ts';
import { createPages, renderPost } from './pages.ts';
import type { Repeats } from './repeats.ts';

const OrganizationId = Type.String({
  pattern: ID_PATTERN,
  description: 'Organization id. The key must belong to this organization.',
  examples: ['org_3Qv8rT5kWn2LxYbZ7cJd4M'],
});
const requestHeaders = Type.Object({
  'If-None-Match': Type.Optional(
    Type.String({
      description: 'The `ETag` of an earlier response. The response is 304 while the content is the same.',
    }),
  ),
  'X-Request-Id': Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_.:-]{8,128}$',
      description:
        'Your id for this request in the log, 8 to 128 characters. Tidings replaces a malformed one.',
    }),
  ),
});
const PostId = Type.String({
  pattern: ID_PATTERN,
  description: 'Post id.',
  examples: ['post_3Qv8rT5kWn2LxYbZ7cJd4M'],
});

const INVALID_LIST = 'Invalid query parameters';
const INVALID_POST = 'Invalid path params or query';
const readListQuery = queryReader(ListQuery, INVALID_LIST);
const readPostQuery = queryReader(PostFilter, INVALID_POST);

interface Asked {
  request: Request;
  route: string;
  organizationId: string;
}

/** The content API: sections 4.1 and 4.2 of the spec. The key is checked before the path and the query. */
export function posts(
  deps: Pick<Deps, 'keys' | 'metrics'> & { readonly db: Pick<Storage, 'read'>; readonly repeats: Repeats },
) {
  const { repeats } = deps;
  const renderPage = createPages(deps.db);
  const readAs = createAdmission(deps);

  /** Reads for the holder of the request's key, and responds. */
  async function respond(
    { request, route, organizationId }: Asked,
    read: () => Promise<Rendered>,
  ): Promise<Response> {
    const version = repeats.version();
    const { result: content, repeatVerdict } = await readAs(request, organizationId, read);
    const response = await privateJson(request, content);
    if (version !== null && repeatVerdict !== undefined && isCurrent(request)) {
      const bodyBytes = response.status === 200 ? content.body.byteLength : 0;
      repeats.keep(request, { version, route, repeatVerdict, response, bodyBytes });
    }
    return response;
  }

  return new Elysia({ name: 'posts' })
    .get(
      '/v1/:organizationId/posts',
      async ({ request, route, params: { organizationId } }) =>
        respond({ request, route, organizationId }, () => {
          const { limit = 10, page = 1, sort = 'desc', ...filter } = readListQuery(request.url);
          return renderPage(organizationId, { ...selectionOf(filter), limit, page, sort });
        }),
      {
        detail: documented({
          operationId: 'listPosts',
          tags: ['Posts'],
          summary: 'List posts',
          description:
            "Returns one page of the organization's posts, newest first. Without `status`, the list holds published posts only. An empty page is an empty list, not an error. Misspelled parameter names, such as `status[]` or `Limit`, are a 400; unrelated names are ignored.",
          params: Type.Object({ organizationId: OrganizationId }),
          query: ListQuery,
          headers: requestHeaders,
          responses: { 200: 'PostList', 304: notModified, ...refusals(INVALID_LIST) },
        }),
      },
    )
    .get(
      '/v1/:organizationId/posts/:postId',
      async ({ request, route, params: { organizationId, postId } }) =>
        respond({ request, route, organizationId }, () => {
          const filter = readPostQuery(request.url);
          if (!isId(postId)) throw new AppError(400, INVALID_POST);
          return renderPost(deps.db, organizationId, postId, selectionOf(filter));
        }),
      {
        detail: documented({
          operationId: 'getPost',
          tags: ['Posts'],
          summary: 'Get one post',
          description:
            'Returns the post, or null with status 200 (never 404) if it does not exist, belongs to another organization, or does not match the filters. Send `status=draft` to get a draft. Misspelled parameter names, such as `status[]` or `contenttype`, are a 400; unrelated names are ignored.',
          params: Type.Object({ organizationId: OrganizationId, postId: PostId }),
          query: PostFilter,
          headers: requestHeaders,
          responses: { 200: 'PostResult', 304: notModified, ...refusals(INVALID_POST) },
        }),
      },
    );
}

function selectionOf(filter: Static<typeof PostFilter>): PostSelection {
  const { status = ['published'], contentType = [...contentTypes] } = filter;
  return { statuses: status, contentTypes: contentType };
}

/** A name without array brackets, punctuation and case: `Content-Type[0]` and `contentType` become one. */
function plainName(name: string): string {
  return name.replace(/\[.*$/s, '').replaceAll(/[\W_]/g, '').toLowerCase();
}

/** Throws `AppError` 400. Elysia splits commas, reads `0x10` as a number, and lets the last of a parameter win. */
function queryReader<Schema extends TObject>(schema: Schema, refusal: string) {
  const compiled = TypeCompiler.Compile(schema);
  const properties = new Map(Object.entries(schema.properties));
  const plainNames = new Set(properties.keys().map(plainName));
  return (url: string): Static<Schema> => {
    const start = url.indexOf('?');
    // Every parameter is optional.
    if (start === -1) return {};
    const parameters = new URLSearchParams(url.slice(start));
    const query: Record<string, unknown> = {};
    for (const name of new Set(parameters.keys())) {
      const property = properties.get(name);
      if (property !== undefined) query[name] = readValues(property, parameters.getAll(name));
      // Ignoring `status[]` or `Limit` would return unfiltered posts to a client that asked for a filter.
      else if (plainNames.has(plainName(name))) throw new AppError(400, refusal);
    }
    if (!compiled.Check(query)) throw new AppError(400, refusal);
    return query;
  };
}

/** A list holds each value once. Where the schema has no list, it refuses a repeated parameter. */
function readValues({ type }: TSchema, values: string[]): unknown {
  if (type === 'array') return [...new Set(values)];
  const [value = '', ...others] = values;
  if (others.length > 0) return values;
  return type === 'integer' && /^[1-9]\d{0,15}$/.test(value) ? Number(value) : value;
}

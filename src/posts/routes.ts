import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { Elysia } from 'elysia';
import type { Storage } from '../../db/engine.ts';
import type { Deps } from '../deps.ts';
import { documented, notModified, refusals } from '../http/openapi.ts';
import { requireApiKey } from '../http/request.ts';
import { privateJson } from '../http/respond.ts';
import { AppError } from '../lib/app-error.ts';
import { ID_PATTERN, isId } from '../lib/text.ts';
import { contentTypes, ListQuery, PostFilter, type PostSelection } from './model.ts';
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

const INVALID_LIST = 'Invalid query parameters';
const INVALID_POST = 'Invalid path params or query';
const readListQuery = queryReader(ListQuery, INVALID_LIST);
const readPostQuery = queryReader(PostFilter, INVALID_POST);

/** The content API: sections 4.1 and 4.2 of the spec. The key is checked before the path and the query. */
export function posts(deps: Pick<Deps, 'keys' | 'metrics'> & { readonly db: Pick<Storage, 'read'> }) {
  const renderPage = createPages(deps.db);
  const readAs = createAdmission(deps);

  return new Elysia({ name: 'posts' })
    .get(
      '/v1/:organizationId/posts',
      async ({ request, params: { organizationId } }) => {
        const list = readAs(request.headers, organizationId, () => {
          const { limit = 10, page = 1, sort = 'desc', ...filter } = readListQuery(request.url);
          return renderPage(organizationId, { ...selectionOf(filter), limit, page, sort });
        });
        return privateJson(request, await list);
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
          responses: { 200: 'PostList', 304: notModified, ...refusals(INVALID_LIST) },
        }),
      },
    )
    .get(
      '/v1/:organizationId/posts/:postId',
      async ({ request, params: { organizationId, postId } }) => {
        const post = readAs(request.headers, organizationId, () => {
          const filter = readPostQuery(request.url);
          if (!isId(postId)) throw new AppError(400, INVALID_POST);
          return renderPost(deps.db, organizationId, postId, selectionOf(filter));
        });
        return privateJson(request, await post);
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
          responses: { 200: 'PostResult', 304: notModified, ...refusals(INVALID_POST) },
        }),
      },
    );
}

/** Keys that are remembered as admitted. */
const MAX_ADMITTED = 1_000;

/**
 * Returns a function that reads for the holder of a key, and rejects with the refusal of the key before any error of
 * `read`. It reads while it checks a key that was admitted before, so that both cost one round trip to the database. A
 * stranger causes no read, and learns nothing from the time that a refusal takes.
 */
function createAdmission(deps: Parameters<typeof requireApiKey>[0]) {
  /** Hashes of keys and their organizations, the oldest first. */
  const admitted = new Set<number | bigint>();

  return async function readAs<Result>(
    headers: Headers,
    organizationId: string,
    read: () => Promise<Result>,
  ): Promise<Result> {
    const reader = Bun.hash(`${organizationId} ${headers.get('authorization')}`);
    const checked = requireApiKey(deps, headers, organizationId, 'api.read');
    const early = admitted.has(reader) ? Promise.try(read) : null;
    early?.catch(() => undefined);
    try {
      await checked;
    } catch (error) {
      admitted.delete(reader);
      throw error;
    }
    if (early !== null) return early;
    admitted.add(reader);
    const [oldest] = admitted;
    if (admitted.size > MAX_ADMITTED && oldest !== undefined) admitted.delete(oldest);
    return read();
  };
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

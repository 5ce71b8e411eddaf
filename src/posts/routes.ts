import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { Deps } from '../deps.ts';
import { documented, notModified, refusals } from '../http/openapi.ts';
import { privateJson } from '../http/respond.ts';
import { requireApiKey } from '../keys/authorize.ts';
import { ID_PATTERN } from '../lib/ids.ts';
import { ListQuery, PostFilter } from './model.ts';
import { createPages, renderPost } from './pages.ts';
import { parseListQuery, parsePostQuery } from './query.ts';

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

/** The content API: sections 4.1 and 4.2 of the spec. The key is checked before the path and the query are. */
export function posts(deps: Pick<Deps, 'db' | 'keys' | 'log' | 'metrics'>) {
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

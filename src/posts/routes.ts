import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { Storage } from '../../db/engine.ts';
import { ErrorBody, notModified, parameters, refusals } from '../http/openapi.ts';
import { isCurrent, privateJson, type Rendered } from '../http/respond.ts';
import { ID_PATTERN } from '../lib/text.ts';
import type { Deps } from '../people/deps.ts';
import type { RepeatVerdict } from '../people/keys/store.ts';
import { admit } from './admission.ts';
import { contentTypes, ListQuery, PostFilter, PostList, PostResult, type PostSelection } from './model.ts';
import { type Repeats, renderPage, renderPost } from './pages.ts';

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

const errors = {
  400: ErrorBody,
  401: ErrorBody,
  403: ErrorBody,
  429: ErrorBody,
  500: ErrorBody,
  503: ErrorBody,
};

interface Asked {
  request: Request;
  route: string;
  /** From before anything was read. */
  version: number | null;
  repeatVerdict?: RepeatVerdict | undefined;
}

/** The content API as Eden Treaty knows it: `treaty<App>(url)`. */
export type App = ReturnType<typeof posts>;

/** The content API: sections 4.1 and 4.2 of the spec. The key is checked before the path and the query. */
export function posts(
  deps: Pick<Deps, 'keys' | 'metrics'> & { readonly db: Pick<Storage, 'read'>; readonly repeats: Repeats },
) {
  const { db, repeats } = deps;

  async function respond({ request, route, version, repeatVerdict }: Asked, reading: Promise<Rendered>) {
    const content = await reading;
    const response = await privateJson(request, content);
    if (version !== null && repeatVerdict !== undefined && isCurrent(request)) {
      const bodyBytes = response.status === 200 ? content.body.byteLength : 0;
      repeats.keep(request, { version, route, repeatVerdict, response, bodyBytes });
    }
    return response;
  }

  return (
    new Elysia({ name: 'posts' })
      // Runs before the validation.
      .derive(async ({ request, params }) => {
        const version = repeats.version();
        const { organizationId } = params as { organizationId: string };
        return { version, ...(await admit(deps, request, organizationId)) };
      })
      .get(
        '/v1/:organizationId/posts',
        ({ params: { organizationId }, query, ...asked }) => {
          const { limit = 10, page = 1, sort = 'desc' } = query;
          const selection = { ...selectionOf(query), limit, page, sort };
          return respond(asked, renderPage(db, organizationId, selection));
        },
        {
          params: Type.Object({ organizationId: OrganizationId }),
          query: Type.Object(ListQuery.properties, { error: INVALID_LIST }),
          transform: strictQuery(ListQuery),
          response: { 200: PostList, ...errors },
          detail: {
            operationId: 'listPosts',
            tags: ['Posts'],
            summary: 'List posts',
            description:
              "Returns one page of the organization's posts, newest first. Without `status`, the list holds published posts only. An empty page is an empty list, not an error. Misspelled parameter names, such as `status[]` or `Limit`, are a 400; unrelated names are ignored.",
            parameters: parameters('header', requestHeaders),
            responses: { 304: notModified, ...refusals(INVALID_LIST) },
          },
        },
      )
      .get(
        '/v1/:organizationId/posts/:postId',
        ({ params: { organizationId, postId }, query, ...asked }) =>
          respond(asked, renderPost(db, organizationId, postId, selectionOf(query))),
        {
          params: Type.Object({ organizationId: OrganizationId, postId: PostId }, { error: INVALID_POST }),
          query: Type.Object(PostFilter.properties, { error: INVALID_POST }),
          transform: strictQuery(PostFilter),
          response: { 200: PostResult, ...errors },
          detail: {
            operationId: 'getPost',
            tags: ['Posts'],
            summary: 'Get one post',
            description:
              'Returns the post, or null with status 200 (never 404) if it does not exist, belongs to another organization, or does not match the filters. Send `status=draft` to get a draft. Misspelled parameter names, such as `status[]` or `contenttype`, are a 400; unrelated names are ignored.',
            parameters: parameters('header', requestHeaders),
            responses: { 304: notModified, ...refusals(INVALID_POST) },
          },
        },
      )
  );
}

function selectionOf({
  status = ['published'],
  contentType = [...contentTypes],
}: Static<typeof PostFilter>): PostSelection {
  return { statuses: status, contentTypes: contentType };
}

/** A name without array brackets, punctuation and case: `Content-Type[0]` and `contentType` become one. */
function plainName(name: string): string {
  return name.replace(/\[.*$/s, '').replaceAll(/[\W_]/g, '').toLowerCase();
}

/**
 * Reads the query for the validation. Elysia itself would split commas, read `0x10` as a number, and let the last of a
 * parameter win.
 */
function strictQuery({ properties }: TObject) {
  const plainNames = new Map(Object.keys(properties).map((name) => [plainName(name), name]));
  return (context: { request: Request; query: unknown }): void => {
    const { url } = context.request;
    const start = url.indexOf('?');
    const parameters = new URLSearchParams(start === -1 ? '' : url.slice(start));
    const query: Record<string, unknown> = {};
    for (const name of new Set(parameters.keys())) {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
      const meant = plainNames.get(plainName(name));
      if (property !== undefined && query[name] !== null)
        query[name] = readValues(property, parameters.getAll(name));
      // Ignoring `status[]` or `Limit` would return unfiltered posts to a client that asked for a filter: no value is null.
      else if (property === undefined && meant !== undefined) query[meant] = null;
    }
    context.query = query;
  };
}

/** A list holds each value once. Where the schema has no list, it refuses a repeated parameter. */
function readValues({ type }: TSchema, values: string[]): unknown {
  if (type === 'array') return [...new Set(values)];
  const [value = '', ...others] = values;
  if (others.length > 0) return values;
  return type === 'integer' && /^[1-9]\d{0,15}$/.test(value) ? Number(value) : value;
}

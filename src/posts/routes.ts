import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { Storage } from '../../db/engine.ts';
import { ErrorBody, notModified, parameters, refusals } from '../http/openapi.ts';
import { isCurrent, privateJson, type Rendered, rendered } from '../http/respond.ts';
import { BoundedMap } from '../lib/bounded-map.ts';
import type { Metrics } from '../lib/metrics.ts';
import { ID_PATTERN } from '../lib/text.ts';
import type { Deps } from '../people/deps.ts';
import { admit } from '../people/keys/check.ts';
import type { RepeatVerdict } from '../people/keys/store.ts';
import {
  contentTypes,
  ListQuery,
  type PageSelection,
  type Pagination,
  PostFilter,
  PostList,
  PostResult,
  type PostSelection,
} from './model.ts';
import { findPost, listPostPage } from './store.ts';

const OrganizationId = Type.String({
  pattern: ID_PATTERN,
  description: 'Organization ID. The key must belong to this organization.',
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
        'Your ID for this request in the log, 8 to 128 characters. Tidings replaces a malformed one.',
    }),
  ),
});
const PostId = Type.String({
  pattern: ID_PATTERN,
  description: 'Post ID.',
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

/** Elysia itself would split commas, read `0x10` as a number, and let the last of a parameter win. */
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

// The bodies of the content API, and responses that are given again.

async function renderPage(
  db: Pick<Storage, 'read'>,
  organizationId: string,
  selection: PageSelection,
): Promise<Rendered> {
  const name = `page ${organizationId} ${JSON.stringify(selection)}`;
  const { posts, totalItems } = await db.read((tx) => listPostPage(tx, organizationId, selection), { name });
  return rendered(toJson({ posts, pagination: paginate(totalItems, selection) }));
}

async function renderPost(
  db: Pick<Storage, 'read'>,
  organizationId: string,
  postId: string,
  selection: PostSelection,
): Promise<Rendered> {
  const post = await db.read((tx) => findPost(tx, organizationId, postId, selection), { single: true });
  return rendered(toJson({ post }));
}

/** Section 2 of the spec; `totalPages` is at least 1, and a page past the end points back one page. */
function paginate(totalItems: number, { limit, page }: PageSelection): Pagination {
  const totalPages = Math.max(1, Math.ceil(totalItems / limit));
  return {
    limit,
    currentPage: page,
    nextPage: page < totalPages ? page + 1 : null,
    previousPage: page > 1 ? page - 1 : null,
    totalPages,
    totalItems,
  };
}

const encoder = new TextEncoder();
const toJson = (body: object): Uint8Array<ArrayBuffer> => encoder.encode(JSON.stringify(body));

const MAX_KEPT_BYTES = 8 * 1024 * 1024;

/** The rough cost of a response beside its body and its request. */
const OVERHEAD_BYTES = 2048;

interface Answer {
  /** The version of the database, from before anything was read for the response. */
  version: number;
  route: string;
  repeatVerdict: RepeatVerdict;
  response: Response;
  bodyBytes: number;
}

export type Repeats = ReturnType<typeof createRepeats>;

/** Gives responses again to equal requests until any process commits. A change of a post or a key is a commit. */
export function createRepeats(
  { version }: Pick<Storage, 'version'>,
  { verifications, verificationDurations }: Pick<Metrics, 'verifications' | 'verificationDurations'>,
  maxKeptBytes = MAX_KEPT_BYTES,
) {
  const kept = new BoundedMap<string, Answer>(maxKeptBytes);

  return {
    version,

    /** Null: the request must be handled. A copy of a response shares its body, and takes a tenth of the time. */
    find(request: Request): { route: string; response: Response } | null {
      if (kept.size === 0 || request.method !== 'GET') return null;
      const present = kept.get(keyOf(request));
      if (present === undefined || present.version !== version() || !present.repeatVerdict()) return null;
      verifications.valid.value++;
      verificationDurations.observe(0);
      return { route: present.route, response: present.response.clone() as Response };
    },

    /** `answer.response` may be sent afterwards. */
    keep(request: Request, answer: Answer): void {
      if (request.method !== 'GET') return;
      const key = keyOf(request);
      // A URL and its headers may be as long as a page of posts.
      const bytes = OVERHEAD_BYTES + key.length + answer.bodyBytes;
      kept.set(key, { ...answer, response: answer.response.clone() as Response }, bytes);
    },
  };
}

/** Everything that a response of the content API depends on. */
function keyOf({ url, headers }: Request): string {
  const [etag, coding] = [headers.get('if-none-match'), headers.get('accept-encoding')];
  return `${url}\n${headers.get('authorization')}\n${etag}\n${coding}`;
}

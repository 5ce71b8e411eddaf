import { Database } from 'bun:sqlite';

// The content API's two reads as one would write them by hand for speed: no framework, prepared statements on the
// same database file, `JSON.stringify`. It checks the key and gives the same bodies, but keeps nothing between
// requests, and knows no filters.

interface PostRow {
  sourceMetadata: unknown;
}

interface KeyRow {
  organizationId: string;
  permissions: string;
  expiresAt: string | null;
  revokedAt: string | null;
}

const db = new Database(Bun.argv[2], { readonly: true, strict: true });

const findKey = db.query<KeyRow, [Uint8Array]>(`
  SELECT organization_id AS organizationId, permissions, expires_at AS expiresAt, revoked_at AS revokedAt
  FROM api_keys WHERE hash = ?`);

const countPosts = db.query<{ total: number }, [string]>(
  `SELECT sum(count) AS total FROM post_counts WHERE organization_id = ? AND status = 'published'`,
);

const COLUMNS = `posts.id, title, content, markdown, content_type AS contentType, source_metadata AS sourceMetadata,
  status, posts.created_at AS createdAt, updated_at AS updatedAt`;

// Rows are looked up only for the page itself, so that a far page is a walk along the index.
const listPosts = (direction: 'ASC' | 'DESC') =>
  db.query<PostRow, [string, number, number]>(`
    SELECT ${COLUMNS} FROM (
      SELECT rowid AS found, created_at, id FROM posts
      WHERE organization_id = ? AND status = 'published'
      ORDER BY created_at ${direction}, id ${direction} LIMIT ? OFFSET ?
    ) AS page JOIN posts ON posts.rowid = page.found
    ORDER BY page.created_at ${direction}, page.id ${direction}`);
const newestFirst = listPosts('DESC');
const oldestFirst = listPosts('ASC');

const findPost = db.query<PostRow, [string, string]>(
  `SELECT ${COLUMNS} FROM posts WHERE id = ? AND organization_id = ? AND status = 'published'`,
);

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  development: false,
  routes: {
    '/v1/:organizationId/posts': (request) => {
      const { organizationId } = request.params;
      return refusal(request, organizationId) ?? Response.json(postList(organizationId, request.url));
    },
    '/v1/:organizationId/posts/:postId': (request) => {
      const { organizationId, postId } = request.params;
      return refusal(request, organizationId) ?? Response.json(onePost(organizationId, postId));
    },
  },
});
process.stdout.write(`Listening on ${server.url.origin}\n`);

function refusal(request: Request, organizationId: string): Response | null {
  const key = request.headers.get('authorization')?.match(/^bearer +(\S.*)$/i)?.[1];
  if (key === undefined) return Response.json({ error: 'Missing API key' }, { status: 401 });
  const row = findKey.get(Bun.SHA256.hash(key) as Uint8Array);
  if (row === null || row.revokedAt !== null || isPast(row.expiresAt)) {
    return Response.json({ error: 'INVALID_KEY' }, { status: 401 });
  }
  const permissions = JSON.parse(row.permissions) as string[];
  const allowed = permissions.includes('api.read') && row.organizationId === organizationId;
  return allowed ? null : Response.json({ error: 'Forbidden' }, { status: 403 });
}

function isPast(time: string | null): boolean {
  return time !== null && time <= new Date().toISOString();
}

function postList(organizationId: string, url: string) {
  const start = url.indexOf('?');
  const parameters = new URLSearchParams(start === -1 ? '' : url.slice(start + 1));
  const limit = Number(parameters.get('limit') ?? 10);
  const page = Number(parameters.get('page') ?? 1);
  const list = parameters.get('sort') === 'asc' ? oldestFirst : newestFirst;
  const totalItems = countPosts.get(organizationId)?.total ?? 0;
  const totalPages = Math.max(1, Math.ceil(totalItems / limit));
  return {
    posts: list.all(organizationId, limit, (page - 1) * limit).map(withMetadata),
    pagination: {
      limit,
      currentPage: page,
      nextPage: page < totalPages ? page + 1 : null,
      previousPage: page > 1 ? page - 1 : null,
      totalPages,
      totalItems,
    },
  };
}

function onePost(organizationId: string, postId: string) {
  const row = findPost.get(postId, organizationId);
  return { post: row === null ? null : withMetadata(row) };
}

function withMetadata(row: PostRow): PostRow {
  if (typeof row.sourceMetadata === 'string') row.sourceMetadata = JSON.parse(row.sourceMetadata);
  return row;
}

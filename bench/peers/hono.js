import { Database } from 'bun:sqlite';
import { Hono } from 'hono';

// The list on Hono and Bun, as many services have it: prepared statements, the total by COUNT(*).

const db = new Database(Bun.argv[2], { readonly: true, strict: true });
const findKey = db.query(
  'SELECT organization_id, permissions, expires_at, revoked_at FROM api_keys WHERE hash = ?',
);
const countPosts = db.query(
  `SELECT count(*) AS total FROM posts WHERE organization_id = ? AND status = 'published'`,
);
const listPosts = db.query(`
  SELECT id, title, content, markdown, content_type AS contentType, source_metadata AS sourceMetadata, status,
    created_at AS createdAt, updated_at AS updatedAt
  FROM posts WHERE organization_id = ? AND status = 'published'
  ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?`);

const app = new Hono();

app.get('/v1/:organizationId/posts', (context) => {
  const organizationId = context.req.param('organizationId');
  const key = context.req.header('authorization')?.match(/^bearer +(\S.*)$/i)?.[1];
  const row = key === undefined ? null : findKey.get(Bun.SHA256.hash(key));
  if (row === null || row.revoked_at !== null || isPast(row.expires_at)) {
    return context.json({ error: 'INVALID_KEY' }, 401);
  }
  if (row.organization_id !== organizationId || !JSON.parse(row.permissions).includes('api.read')) {
    return context.json({ error: 'Forbidden' }, 403);
  }
  const limit = Number(context.req.query('limit') ?? 10);
  const page = Number(context.req.query('page') ?? 1);
  const { total } = countPosts.get(organizationId);
  const totalPages = Math.max(1, Math.ceil(total / limit));
  const posts = listPosts.all(organizationId, limit, (page - 1) * limit);
  for (const post of posts) {
    if (post.sourceMetadata !== null) post.sourceMetadata = JSON.parse(post.sourceMetadata);
  }
  return context.json({
    posts,
    pagination: {
      limit,
      currentPage: page,
      nextPage: page < totalPages ? page + 1 : null,
      previousPage: page > 1 ? page - 1 : null,
      totalPages,
      totalItems: total,
    },
  });
});

function isPast(time) {
  return time !== null && time <= new Date().toISOString();
}

const server = Bun.serve({ hostname: '127.0.0.1', port: 0, development: false, fetch: app.fetch });
process.stdout.write(`Listening on ${server.url.origin}\n`);

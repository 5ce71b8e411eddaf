import { createHash } from 'node:crypto';
import Database from 'better-sqlite3';
import fastify from 'fastify';

// The list on Fastify, Node, and better-sqlite3, as many services have it: prepared statements, the total by COUNT(*).

const db = new Database(process.argv[2], { readonly: true });
const findKey = db.prepare(
  'SELECT organization_id, permissions, expires_at, revoked_at FROM api_keys WHERE hash = ?',
);
const countPosts = db.prepare(
  `SELECT count(*) AS total FROM posts WHERE organization_id = ? AND status = 'published'`,
);
const listPosts = db.prepare(`
  SELECT id, title, content, markdown, content_type AS contentType, source_metadata AS sourceMetadata, status,
    created_at AS createdAt, updated_at AS updatedAt
  FROM posts WHERE organization_id = ? AND status = 'published'
  ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?`);

const app = fastify();

app.get('/v1/:organizationId/posts', (request, reply) => {
  const { organizationId } = request.params;
  const key = request.headers.authorization?.match(/^bearer +(\S.*)$/i)?.[1];
  const row = key === undefined ? undefined : findKey.get(createHash('sha256').update(key).digest());
  if (row === undefined || row.revoked_at !== null || isPast(row.expires_at)) {
    return reply.code(401).send({ error: 'INVALID_KEY' });
  }
  if (row.organization_id !== organizationId || !JSON.parse(row.permissions).includes('api.read')) {
    return reply.code(403).send({ error: 'Forbidden' });
  }
  const limit = Number(request.query.limit ?? 10);
  const page = Number(request.query.page ?? 1);
  const { total } = countPosts.get(organizationId);
  const totalPages = Math.max(1, Math.ceil(total / limit));
  const posts = listPosts.all(organizationId, limit, (page - 1) * limit);
  for (const post of posts) {
    if (post.sourceMetadata !== null) post.sourceMetadata = JSON.parse(post.sourceMetadata);
  }
  return reply.send({
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

const url = await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`Listening on ${url}\n`);

import { Database } from 'bun:sqlite';
import { timingSafeEqual } from 'node:crypto';

// The receiver as one would write it by hand for speed: no framework, prepared statements on a database of the same
// schema and durability, one commit for each delivery. It verifies, claims, and writes a log entry with what a push
// came to; it knows no other event, no disabled integration and no second secret.

const [file, secret = ''] = Bun.argv.slice(2);
const db = new Database(file, { strict: true });
db.run('PRAGMA journal_mode = WAL');
db.run('PRAGMA synchronous = FULL');

const claim = db.query(`
  INSERT INTO delivery_claims (integration_id, delivery_id, expires_at) VALUES ($integrationId, $deliveryId, $expiresAt)
  ON CONFLICT DO UPDATE SET expires_at = excluded.expires_at WHERE delivery_claims.expires_at <= $now RETURNING 1`);

const record = db.query(`
  INSERT INTO deliveries (id, organization_id, integration_id, integration_type, title, status, status_code,
    reference_id, event, action, data, count, body_hash, duration_ms, retention_days, created_at, expires_at)
  VALUES ($id, $organizationId, $integrationId, 'github', $title, $status, 200, $deliveryId, 'push', 'pushed', $data, 1,
    $bodyHash, 0, 7, $createdAt, $expiresAt)`);

const DAY_MS = 86_400_000;

interface Push {
  ref: string;
  commits: { id: string; message: string; url: string; timestamp: string }[];
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  development: false,
  routes: {
    '/api/webhooks/github/:organizationId/:integrationId/:repositoryId': {
      POST: async (request) => take(request.params, request.headers, await request.bytes()),
    },
  },
});
process.stdout.write(`Listening on ${server.url.origin}\n`);

function take(
  path: { organizationId: string; integrationId: string },
  headers: Headers,
  body: Uint8Array,
): Response {
  const expected = `sha256=${new Bun.CryptoHasher('sha256', secret).update(body).digest('hex')}`;
  const signature = headers.get('x-hub-signature-256') ?? '';
  if (
    signature.length !== expected.length ||
    !timingSafeEqual(Buffer.from(signature), Buffer.from(expected))
  ) {
    return Response.json({ error: 'Invalid webhook signature' }, { status: 401 });
  }
  const push = JSON.parse(new TextDecoder().decode(body)) as Push;
  const deliveryId = headers.get('x-github-delivery') ?? '';
  const isNew = commit(path, deliveryId, body, push);
  return Response.json({ received: true, message: isNew ? 'Processed push: pushed' : 'Duplicate delivery' });
}

const commit = db.transaction(
  (
    path: { organizationId: string; integrationId: string },
    deliveryId: string,
    body: Uint8Array,
    push: Push,
  ) => {
    const now = Date.now();
    const { integrationId, organizationId } = path;
    const isNew = claim.get({ integrationId, deliveryId, now, expiresAt: now + DAY_MS }) !== null;
    const commits = push.commits.map(({ id, message, url, timestamp }) => ({ id, message, url, timestamp }));
    record.run({
      id: `dlv_${Bun.randomUUIDv7()}`,
      organizationId,
      integrationId,
      title: `${commits.length} commits pushed`,
      status: isNew ? 'processed' : 'duplicate',
      deliveryId,
      data: JSON.stringify({ ref: push.ref, commits }),
      bodyHash: Bun.SHA256.hash(body) as Uint8Array,
      createdAt: new Date(now).toISOString(),
      expiresAt: now + 7 * DAY_MS,
    });
    return isNew;
  },
).immediate;

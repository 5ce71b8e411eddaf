import { SERVER } from '../../src/audit/model.ts';
import { embeddedKeys } from '../../src/keys/embedded.ts';
import { READ_PERMISSION } from '../../src/keys/model.ts';
import { createLog } from '../../src/lib/log.ts';
import { randomIds } from '../../src/lib/text.ts';
import { systemClock } from '../../src/lib/time.ts';
import { openDataFolder } from '../../src/operate/data-folder.ts';
import { createOrganization } from '../../src/organizations/service.ts';

export const ORGANIZATION = 'org_bench';

const BATCH = 100_000;

/** Fills a new data folder with short posts, which SQL makes. Returns an API key. The search does not know the posts. */
export async function fillLongList(
  path: string,
  posts: number,
  onProgress: (written: number, total: number) => void,
): Promise<string> {
  const { db, close } = openDataFolder(path);
  try {
    const log = createLog('silent', { write: () => undefined });
    const deps = { db, clock: systemClock, ids: randomIds, actor: SERVER, log };
    await createOrganization(deps, { id: ORGANIZATION, name: 'Benchmark', plan: 'free' });
    const { key } = await embeddedKeys(deps).createKey({
      organizationId: ORGANIZATION,
      name: 'Benchmark',
      permissions: [READ_PERMISSION],
      expiresAt: null,
    });
    const sqlite = db.$client;
    sqlite.run('PRAGMA synchronous = OFF');
    sqlite.run('PRAGMA cache_size = -500000');
    const name = 'posts_searchable_on_insert';
    const [[trigger] = []] = sqlite.query('SELECT sql FROM sqlite_schema WHERE name = ?').values(name);
    sqlite.run(`DROP TRIGGER ${name}`);
    for (let start = 0; start < posts; start += BATCH) {
      sqlite.run(INSERT, [start, Math.min(start + BATCH, posts), ORGANIZATION]);
      onProgress(Math.min(start + BATCH, posts), posts);
    }
    sqlite.run(String(trigger));
    return key;
  } finally {
    close();
  }
}

/** A post is a minute older than the last. Every 21st is a draft, and every fifth for LinkedIn. */
const INSERT = `
  INSERT INTO posts (id, organization_id, status, content_type, created_at, updated_at, title, content, markdown)
  WITH RECURSIVE numbers(n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?2)
  SELECT 'post_' || lower(hex(randomblob(11))), ?3, iif(n % 21 = 1, 'draft', 'published'),
    iif(n % 5 = 4, 'linkedin_post', 'changelog'), strftime('%Y-%m-%dT%H:%M:%fZ', 1767225600 - n * 60, 'unixepoch'),
    '2026-01-01T00:00:00.000Z', 'Rocket 4.' || n || ': quieter engines',
    'Added: quiet mode, which makes engines start softer', '- **Quiet mode** makes engines start softer' FROM numbers`;

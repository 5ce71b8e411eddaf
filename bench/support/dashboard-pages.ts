import { resultFilters } from '../../src/integrations/deliveries/log-store.ts';
import { openDataFolder } from '../../src/server/data-folder.ts';
import type { DashboardFolder } from './dashboard-folder.ts';
import { RARE_EVENT } from './dashboard-log.ts';
import { COMMON_WORD, NO_WORD, RARE_WORD } from './dashboard-posts.ts';

/**
 * The paths of every page of the organization that asks no other service, and of the lists with the filters that find
 * much, little and nothing.
 */
export function dashboardPages(folder: DashboardFolder): string[] {
  const known = lookUp(folder);
  const { github, linear } = folder.integrations;
  const queries = (list: Record<string, string>[]) => list.map((query) => `?${new URLSearchParams(query)}`);
  const log = queries([
    {},
    ...[known.fiftieth, known.middle].map((before) => ({ before })),
    { after: known.fiftieth },
    ...['processed', 'failed'].map((status) => ({ status })),
    ...['pull_request', 'release', RARE_EVENT].map((event) => ({ event })),
    ...resultFilters.map((result) => ({ result })),
    ...[known.deliveryId, 'nothing'].map((delivery) => ({ delivery })),
    { integration: linear },
    { provider: 'linear' },
    { since: '1h' },
    { via: 'polling' },
    { integration: github, event: RARE_EVENT },
    { integration: github, result: 'suggested' },
    { status: 'failed', event: RARE_EVENT },
    { status: 'ignored', event: RARE_EVENT },
    { status: 'ignored', integration: linear },
    { since: '30d', event: RARE_EVENT, status: 'processed' },
    { since: '30d', event: RARE_EVENT, status: 'ignored', provider: 'github', integration: github },
  ]);
  const posts = queries([
    {},
    ...[known.middlePage, 2 * known.middlePage].map((page) => ({ page: `${page}` })),
    { status: 'draft' },
    { contentType: 'linkedin_post' },
    { status: 'draft', contentType: 'linkedin_post' },
    { status: 'published', page: `${known.middlePage}` },
    ...[COMMON_WORD, known.title, RARE_WORD, `${COMMON_WORD} ${RARE_WORD}`, NO_WORD].map((q) => ({ q })),
    ...[COMMON_WORD.slice(0, -1), COMMON_WORD.slice(0, 3), 't', 't a r o m e l i s u n o'].map((q) => ({
      q,
    })),
    { q: COMMON_WORD, page: '40' },
    { q: COMMON_WORD, status: 'draft', contentType: 'linkedin_post' },
  ]);
  const below = (path: string, pages: readonly string[]) => pages.map((page) => `${path}${page}`);
  return [
    ...below('deliveries', log),
    ...below(`deliveries/${known.newestId}`, ['']),
    ...below(`deliveries/${known.deliveryId}`, ['', '/result']),
    ...below('integrations', ['']),
    ...below(`integrations/${github}`, ['', '/token', '/polling', '/add', '/missed']),
    ...below(`integrations/${github}/triggers/`, ['new?event=release', ...Object.values(folder.triggers)]),
    ...below('posts', posts),
    ...below('posts/~/', ['new', 'import', 'export', 'trash']),
    ...below(`posts/${known.postId}`, ['', '/versions']),
    ...below('publishing', ['', '/hooks', '/hooks/~/new?kind=netlify', '/agents']),
    ...below('settings', ['', '/keys', '/members', '/audit']),
    ...['import', 'media', 'jump', `jump?q=${COMMON_WORD}`, 'explorer', 'explorer?send=1', 'start'],
    '../~/account',
  ]
    .map((page) => new URL(page, `http://localhost/dashboard/${folder.organizationId}/`))
    .map(({ pathname, search }) => pathname + search);
}

function lookUp({ path, organizationId, triggers }: DashboardFolder) {
  const { db, close } = openDataFolder(path);
  try {
    const one = <Row>(sql: string, ...values: (string | number)[]): Row => {
      const row = db.$client.query(sql).get(...values);
      if (row === null) throw new Error(`nothing found by ${sql}`);
      return row as Row;
    };
    const entry = (offset: number) =>
      one<{ id: string; position: string }>(
        `SELECT id, created_at || '_' || id AS position FROM deliveries WHERE organization_id = ?
        ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET ?`,
        organizationId,
        offset,
      );
    const count = (table: 'deliveries' | 'posts') =>
      one<{ rows: number }>(`SELECT count(*) AS rows FROM ${table} WHERE organization_id = ?`, organizationId)
        .rows;
    const drafted = one<{ id: string; title: string; deliveryId: string }>(
      `SELECT posts.id, title, json_extract(source_metadata, '$.deliveryId') AS deliveryId
      FROM drafts JOIN posts ON posts.id = post_id WHERE trigger_id = ? ORDER BY until DESC LIMIT 1`,
      triggers.release,
    );
    return {
      fiftieth: entry(49).position,
      middle: entry(Math.floor(count('deliveries') / 2)).position,
      newestId: entry(0).id,
      deliveryId: drafted.deliveryId,
      postId: drafted.id,
      title: drafted.title.split(' ').slice(0, 4).join(' '),
      middlePage: Math.max(1, Math.floor(count('posts') / 50)),
    };
  } finally {
    close();
  }
}

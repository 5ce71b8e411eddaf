import { resultFilters } from '../../src/integrations/deliveries/log-store.ts';
import { openDataFolder } from '../../src/server/data-folder.ts';
import type { DashboardFolder } from './dashboard-folder.ts';
import { RARE_EVENT } from './dashboard-log.ts';
import { COMMON_WORD, NO_WORD, RARE_WORD } from './dashboard-posts.ts';

/** A page to open. */
export interface DashboardPage {
  name: string;
  path: string;
}

/**
 * Every page of an organization that asks no other service, and the lists with the filters that find much, little and
 * nothing.
 */
export function dashboardPages(folder: DashboardFolder): DashboardPage[] {
  const known = lookUp(folder);
  const { github, linear } = folder.integrations;
  const base = `/dashboard/${folder.large}`;
  const trigger = (id: string) => `${base}/integrations/${github}/triggers/${id}`;
  const log = (name: string, query: Record<string, string>) => ({
    name: `log: ${name}`,
    path: `${base}/deliveries?${new URLSearchParams(query)}`,
  });
  const posts = (name: string, query: Record<string, string>) => ({
    name: `posts: ${name}`,
    path: `${base}/posts?${new URLSearchParams(query)}`,
  });
  return [
    log('newest', {}),
    log('second page', { before: known.fiftieth }),
    log('in the middle', { before: known.middle }),
    log('processed', { status: 'processed' }),
    log('failed', { status: 'failed' }),
    log('an event', { event: 'pull_request' }),
    log('a seldom event', { event: 'release' }),
    log('a rare event', { event: RARE_EVENT }),
    log('an integration', { integration: linear }),
    log('a rare event of one', { integration: github, event: RARE_EVENT }),
    log('a provider', { provider: 'linear' }),
    log('rare and failed', { status: 'failed', event: RARE_EVENT }),
    log('rare and ignored', { status: 'ignored', event: RARE_EVENT }),
    log('ignored of one', { status: 'ignored', integration: linear }),
    log('last hour', { since: '1h' }),
    log('polled', { via: 'polling' }),
    ...resultFilters.map((result) => log(`result ${result}`, { result })),
    log('a result of one', { integration: github, result: 'suggested' }),
    log('rare in 30 days', { since: '30d', event: RARE_EVENT, status: 'processed' }),
    log('everything chosen', {
      since: '30d',
      event: RARE_EVENT,
      status: 'ignored',
      provider: 'github',
      integration: github,
    }),
    log('a delivery id', { delivery: known.deliveryId }),
    log('an unknown id', { delivery: 'nothing' }),
    log('news', { after: known.fiftieth }),
    { name: 'delivery: the newest', path: `${base}/deliveries/${known.newestId}` },
    { name: 'delivery: behind a post', path: `${base}/deliveries/${known.deliveryId}` },
    { name: 'delivery: result', path: `${base}/deliveries/${known.deliveryId}/result` },
    { name: 'integrations', path: `${base}/integrations` },
    { name: 'integration', path: `${base}/integrations/${github}` },
    ...['token', 'polling', 'add', 'missed', 'triggers/new?event=release'].map((page) => ({
      name: `integration: ${page}`,
      path: `${base}/integrations/${github}/${page}`,
    })),
    { name: 'import of releases', path: `${base}/import` },
    { name: 'trigger', path: trigger(folder.triggers.release) },
    { name: 'trigger: push', path: trigger(folder.triggers.push) },
    posts('newest', {}),
    posts('page in the middle', { page: String(known.middlePage) }),
    posts('last page', { page: String(known.middlePage * 2) }),
    posts('drafts', { status: 'draft' }),
    posts('LinkedIn', { contentType: 'linkedin_post' }),
    posts('drafts for LinkedIn', { status: 'draft', contentType: 'linkedin_post' }),
    posts('published, middle', { status: 'published', page: String(known.middlePage) }),
    posts('common word', { q: COMMON_WORD }),
    posts('common, page 40', { q: COMMON_WORD, page: '40' }),
    posts('common in drafts', { q: COMMON_WORD, status: 'draft', contentType: 'linkedin_post' }),
    posts('four common words', { q: known.title }),
    posts('rare word', { q: RARE_WORD }),
    posts('common and rare', { q: `${COMMON_WORD} ${RARE_WORD}` }),
    posts('no such word', { q: NO_WORD }),
    posts('common, unfinished', { q: COMMON_WORD.slice(0, -1) }),
    posts('three letters', { q: COMMON_WORD.slice(0, 3) }),
    posts('one letter', { q: 't' }),
    posts('twelve letters', { q: 't a r o m e l i s u n o' }),
    { name: 'posts: of the small one', path: `/dashboard/${folder.small}/posts?q=${COMMON_WORD}` },
    { name: 'post', path: `${base}/posts/${known.postId}` },
    { name: 'post: versions', path: `${base}/posts/${known.postId}/versions` },
    { name: 'post: new', path: `${base}/posts/~/new` },
    { name: 'posts: import', path: `${base}/posts/~/import` },
    { name: 'posts: export', path: `${base}/posts/~/export` },
    { name: 'trash', path: `${base}/posts/~/trash` },
    { name: 'images', path: `${base}/media` },
    { name: 'jump', path: `${base}/jump` },
    { name: 'jump: a word', path: `${base}/jump?q=${COMMON_WORD}` },
    { name: 'publishing', path: `${base}/publishing` },
    { name: 'publishing: hooks', path: `${base}/publishing/hooks` },
    { name: 'publishing: new hook', path: `${base}/publishing/hooks/~/new?kind=netlify` },
    { name: 'publishing: agents', path: `${base}/publishing/agents` },
    { name: 'explorer', path: `${base}/explorer` },
    { name: 'explorer: sent', path: `${base}/explorer?send=1` },
    { name: 'settings', path: `${base}/settings` },
    { name: 'keys', path: `${base}/settings/keys` },
    { name: 'members', path: `${base}/settings/members` },
    { name: 'audit log', path: `${base}/settings/audit` },
    { name: 'first steps', path: `${base}/start` },
    { name: 'account', path: '/dashboard/~/account' },
  ];
}

/** The rehearsals of triggers, which stream their results. */
export function rehearsals({ large, integrations, triggers }: DashboardFolder): DashboardPage[] {
  const of = (id: string) => `/dashboard/${large}/integrations/${integrations.github}/triggers/${id}`;
  return Object.entries(triggers).map(([name, id]) => ({ name, path: `${of(id)}?rehearse=yes` }));
}

/** Addresses of what is in the folder. */
function lookUp({ path, large, triggers }: DashboardFolder) {
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
        large,
        offset,
      );
    const { entries } = one<{ entries: number }>(
      'SELECT count(*) AS entries FROM deliveries WHERE organization_id = ?',
      large,
    );
    const { posts } = one<{ posts: number }>(
      'SELECT count(*) AS posts FROM posts WHERE organization_id = ?',
      large,
    );
    const drafted = one<{ id: string; title: string; deliveryId: string }>(
      `SELECT posts.id, title, json_extract(source_metadata, '$.deliveryId') AS deliveryId
      FROM drafts JOIN posts ON posts.id = post_id WHERE trigger_id = ? ORDER BY until DESC LIMIT 1`,
      triggers.release,
    );
    return {
      fiftieth: entry(49).position,
      middle: entry(Math.floor(entries / 2)).position,
      newestId: entry(0).id,
      deliveryId: drafted.deliveryId,
      postId: drafted.id,
      title: drafted.title.split(' ').slice(0, 4).join(' '),
      middlePage: Math.max(1, Math.floor(posts / 50)),
    };
  } finally {
    close();
  }
}

import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { samplePayload } from '../../src/providers/index.ts';
import { cliJson } from './cli.ts';
import type { OpenDashboard } from './dashboard-browser.ts';
import { changed } from './payloads.ts';
import { until } from './until.ts';

/** A word that cannot be broken, in places that have no end. */
const endless = 'Endless'.repeat(14);

/** Content wider than a narrow page: a table, a line of code, and a word. */
const wide = `${endless}

| ${'Column | '.repeat(9)}
| ${'--- | '.repeat(9)}
| ${'a cell of it | '.repeat(9)}

\`\`\`
${'code '.repeat(60)}
\`\`\`

- [x] https://example.com/${endless}
`;

const publicPost = {
  id: 'public',
  title: `Public ${endless}`,
  markdown: 'Text',
  status: 'published',
  createdAt: '2020-01-01T00:00:00.000Z',
};

/** A hook to a private address, which the server refuses to call, and a post that it is told of. */
async function addFailingHook(dataDir: string, posts: string): Promise<void> {
  const org = ['--organization', 'org_demo'];
  const words = ['hook', 'create', ...org, '--name', endless, '--url', 'https://127.0.0.1:1/'];
  const { id } = await cliJson(dataDir, words, { environment: { HOOK_PRIVATE_HOSTS: '127.0.0.1' } });
  await cliJson(dataDir, ['post', 'import', posts, ...org]);
  await until(
    () => cliJson(dataDir, ['hook', 'messages', id]),
    ([message]) => message?.attempts.length > 0,
  );
}

/** Adds what the demo has none of: long words, what was refused, what failed, and a newer text beside an edited one. */
export async function fillDashboard({
  dataDir,
  server,
}: Pick<OpenDashboard, 'dataDir' | 'server'>): Promise<{ failing: string }> {
  const json = (...words: string[]) => cliJson(dataDir, words);
  const write = async (name: string, text: string) => {
    const path = join(dataDir, name);
    await Bun.write(path, text);
    return path;
  };
  const org = ['--organization', 'org_demo'];
  const [{ id: integration }] = await json('integration', 'list', ...org);
  const send = (event: string, ...words: string[]) =>
    json('send', 'github', event, '--integration', integration, '--url', server.url, ...words);

  // Passes the check, with its sample; fails at a pre-release.
  const body = '{% if release.isPrerelease %}{{ 1 | divided_by: 0 }}{% endif %}{{ release.notes }}';
  const trigger = ['trigger', 'create', '--integration', integration, '--event', 'release', '--tag', 'v2.*'];
  const { id: failing } = await json(...trigger, '--template', await write('failing.liquid', body));

  const [draft] = await json('post', 'list', ...org);
  const posts = [{ id: 'wide', title: endless, markdown: wide, status: 'draft' }];
  await json('post', 'import', await write('wide.json', JSON.stringify(posts)), ...org);
  await addFailingHook(dataDir, await write('public.json', JSON.stringify([publicPost])));
  await json('key', 'create', ...org, '--name', endless);
  const { id: old } = await json('key', 'create', ...org, '--name', 'Old');
  await json('key', 'revoke', old);
  await json('integration', 'connect', 'linear', ...org);
  await json('integration', 'connect', 'github', ...org, '--repository', `acme/${endless}`);

  addSuggestions(dataDir, draft.id);

  await send('push', '--bad-signature');
  await send('ping', '--twice');
  await json('post', 'edit', draft.id, '--title', 'In our own words');
  const now = new Date(Date.now() + 60_000);
  const edited =
    samplePayload('github', 'release', { repository: 'acme/rocket', now, action: 'edited' }) ?? {};
  await send(
    'release',
    '--payload',
    await write('edited.json', JSON.stringify(changed(edited, { 'release.prerelease': true }))),
  );
  // The release came before the trigger: a person asks for it.
  await json('delivery', 'replay', ...org, '--event', 'release', '--since', '1d');
  await until(
    () => json('trigger', 'runs'),
    (runs: { triggerId: string; error: string | null }[]) =>
      runs.length === 1 && runs.every(({ triggerId, error }) => triggerId === failing && error !== null),
  );
  return { failing };
}

/** Suggestions of agents for a post of the demo. */
function addSuggestions(dataDir: string, postId: string): void {
  using db = new Database(join(dataDir, 'tidings.db'));
  db.run('pragma busy_timeout = 60000');
  const insert = db.prepare(
    `insert into post_suggestions (id, post_id, organization_id, key_id, key_name, title, markdown, note, created_at)
     values (?, ?, 'org_demo', 'key_agent', ?, ?, ?, ?, ?)`,
  );
  const createdAt = new Date().toISOString();
  const note = 'Names the version in the title.';
  insert.run(
    'sug_one',
    postId,
    'Docs agent',
    'Acme Rocket 2.4: quieter engines',
    '- One line',
    note,
    createdAt,
  );
  insert.run('sug_two', postId, endless, endless, wide, endless, createdAt);
}

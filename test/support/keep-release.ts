import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { systemClock } from '../../src/lib/time.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { temporaryFolder } from './cli.ts';
import { formOf } from './form-of.ts';
import { projectOf } from './github-api/project.ts';
import { startGithubApi } from './github-api/server.ts';
import { startHookReceiver } from './hook-receiver.ts';
import { imageFixture } from './media.ts';
import { changed } from './payloads.ts';
import { START } from './polling.ts';
import { startPostgres } from './postgres-server.ts';
import { root, startProcess } from './server.ts';
import { until } from './until.ts';

// `bun test/support/keep-release.ts BINARY` lets the binary of a release fill a data folder, and keeps the folder and what
// the binary prints about it in test/fixtures/releases/VERSION: test/db/releases.test.ts opens it with this version.

const [binary = ''] = Bun.argv.slice(2);
const { path: folder, remove } = temporaryFolder();
const dataDir = join(folder, 'data');
const github = startGithubApi({ clock: systemClock });
const receiver = startHookReceiver();
receiver.responses.set('/broken', [() => new Response('', { status: 500 })]);
const environment = { GITHUB_API_URL: github.url, HOOK_PRIVATE_HOSTS: '127.0.0.1', LOG_LEVEL: 'error' };
const server = await startProcess([binary, 'serve'], { dataDir, environment, until: 'Set up the dashboard' });
// Also when a step fails.
process.on('exit', () => void server.stop());
const { port } = new URL(server.url);
const url = `http://localhost:${port}`;

async function run(words: readonly string[]): Promise<string> {
  const env = { PATH: Bun.env.PATH, HOME: Bun.env.HOME, DATA_DIR: dataDir, PORT: port, ...environment };
  const child = Bun.spawn([binary, ...words], { env, stdout: 'pipe', stderr: 'pipe' });
  const [output, problem] = await Promise.all(
    [child.stdout, child.stderr].map((each) => new Response(each).text()),
  );
  if ((await child.exited) !== 0) throw new Error(`${words.join(' ')}: ${problem}${output}`);
  return output ?? '';
}

const json = async (...words: string[]) => JSON.parse(await run([...words, '--json']));

async function write(name: string, text: string): Promise<string> {
  await Bun.write(join(folder, name), text);
  return join(folder, name);
}

let cookie = '';
async function visit(path: string, body?: URLSearchParams | FormData): Promise<Response> {
  const headers = { cookie, ...(body && { 'sec-fetch-site': 'same-origin' }) };
  const response = await fetch(url + path, {
    headers,
    redirect: 'manual',
    ...(body && { method: 'POST', body }),
  });
  if (response.status >= 400) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? cookie;
  return response;
}

/** No run is queued that nobody has tried. */
const settled = () =>
  until(
    () => json('trigger', 'runs', '--status', 'queued'),
    (runs: { error: string | null }[]) => runs.every(({ error }) => error !== null),
  );

// People.
const setup = new URL(/Set up the dashboard: (\S+)/.exec(server.stdout())?.[1] ?? '');
const fields = formOf(await (await visit(setup.pathname + setup.search)).text(), '/setup');
for (const [name, value] of Object.entries({
  email: 'ann@acme.example',
  password: 'correct horse battery',
  organization: 'Acme',
}))
  fields.set(name, value);
await visit('/setup', fields);
const [{ id: organization }] = await json('organization', 'list');
const org = ['--organization', organization];
await json('organization', 'create', '--name', 'Bolt', '--id', 'bolt', '--plan', 'pro');
await json('organization', 'create', '--name', 'Gone', '--id', 'gone');
await json('organization', 'delete', 'gone', '--confirm', 'Gone');
await json('user', 'create', '--email', 'bob@acme.example', '--organization', 'bolt');
await json('user', 'add', 'bob@acme.example', ...org, '--role', 'member');
await json('user', 'create', '--email', 'eve@acme.example', '--organization', 'bolt');
await json('user', 'disable', 'eve@acme.example');
const base = `/dashboard/${organization}`;
await visit(`${base}/settings/members/invitations`, new URLSearchParams({ role: 'member', mark: 'invite' }));
const { key } = await json('key', 'create', ...org, '--name', 'Website');
await json('key', 'revoke', (await json('key', 'create', ...org, '--name', 'Old')).id);

// Hooks, posts, and what is public.
const hook = (name: string, path: string, ...words: string[]) =>
  json('hook', 'create', ...org, '--name', name, '--url', receiver.at(path), ...words);
const { id: site } = await hook('Site', '/site');
await hook('Broken', '/broken');
await hook('Chat', '/chat', '--kind', 'slack', '--about', 'attention');
await json('page', 'set', ...org, '--slug', 'acme-old', '--on', '--feeds', 'on', '--agents', 'on');
await json('page', 'set', ...org, '--slug', 'acme', '--title', 'News', '--accent-color', '#b3402a');
const posts = ['published', 'scheduled', 'edited', 'deleted'].map((id) => ({
  id,
  title: `To be ${id}`,
  markdown: `It's *${id}*, with Ümläut, \`code\` and 🚀`,
  status: id === 'published' ? 'published' : 'draft',
  createdAt: '2025-01-02T03:04:05.000Z',
}));
await json('post', 'import', ...org, await write('posts.json', JSON.stringify(posts)));
await json('post', 'publish', 'scheduled', '--at', '2099-01-01T09:00', '--time-zone', 'Europe/Berlin');
await json('post', 'edit', 'edited', '--title', 'Edited');
await json('post', 'edit', 'edited', '--markdown', await write('edited.md', 'Other text'));
await json('post', 'delete', 'deleted');
const upload = new FormData();
upload.set('file', new File([imageFixture('photo.webp')], 'photo.webp'));
const uploaded = await visit(`${base}/media`, upload);
const [image] = /img_\w+/.exec(uploaded.headers.get('location') ?? '') ?? [];
const picture = await write('picture.md', `![A picture](${url}/media/${image}.webp)`);
await json('post', 'create', ...org, '--title', 'With a picture', '--publish', picture);

// Integrations, and what they cause.
const connect = (type: string, ...words: string[]) => json('integration', 'connect', type, ...org, ...words);
const { integrationId: manual } = await connect('github', '--repository', 'acme/rocket', '--manual');
await connect('linear', '--manual');
await connect('gitlab', '--repository', 'acme/lab', '--manual');
await connect('forgejo', '--repository', 'acme/forge', '--manual');
const about = { isPrivate: false, rights: { ann: 'admin' } } as const;
for (const name of ['acme/engine', 'acme/polled', 'acme/past'])
  projectOf(github.addRepository(name, about), systemClock, START);
const permissions = { contents: 'read', pull_requests: 'read', repository_hooks: 'write' } as const;
const token = ['--token', github.addToken({ user: 'ann', permissions })];
const { integrationId: managed } = await connect('github', '--repository', 'acme/engine', ...token);
const { integrationId: polled } = await connect('github', '--repository', 'acme/polled', '--poll', ...token);
await github.settled();
const trigger = (integration: string, event: string, ...words: string[]) =>
  json('trigger', 'create', '--integration', integration, '--event', event, ...words);
const { id: news } = await trigger(manual, 'release', '--title', '{{ release.name }}', '--exclude-bots');
await json('trigger', 'change', news, '--title', 'News: {{ release.name }}', '--prereleases', 'no');
// Passes the check, with its sample; fails at a pre-release.
const failing = '{% if release.isPrerelease %}{{ 1 | divided_by: 0 }}{% endif %}{{ release.notes }}';
await trigger(manual, 'release', '--tag', 'v2.*', '--template', await write('failing.liquid', failing));
await trigger(manual, 'push');
await trigger(managed, 'push', '--disabled');
await trigger(polled, 'release');
const { id: weekly } = await json('roundup', 'create', ...org, '--name', 'Weekly', '--integration', manual);
const send = (event: string, ...words: string[]) =>
  json('send', 'github', event, '--integration', manual, '--url', url, ...words);
await send('release');
await settled();
const drafts: { id: string; title: string }[] = await json('post', 'list', ...org, '--status', 'draft');
await json('post', 'edit', drafts.find(({ title }) => title.startsWith('News'))?.id ?? '', '--title', 'Ours');
const now = new Date(Date.now() + 60_000);
const sample = samplePayload('github', 'release', { repository: 'acme/rocket', now, action: 'edited' }) ?? {};
for (const [name, changes] of Object.entries({
  edited: { 'release.body': 'Newer words' },
  prerelease: {
    action: 'published',
    'release.id': 7,
    'release.tag_name': 'v2.9.0-rc',
    'release.prerelease': true,
  },
}))
  await send('release', '--payload', await write(`${name}.json`, JSON.stringify(changed(sample, changes))));
await send('push', '--bad-signature');
await send('push', '--twice');
await settled();
await json('roundup', 'now', weekly);
await send('push');
await json('integration', 'poll', polled);
await json('history', 'acme/past', ...org, '--releases', '2');
await settled();
await until(
  () => json('hook', 'messages', site),
  (messages: { state: string }[]) => messages.every(({ state }) => state === 'sent'),
);
const list = `/v1/${organization}/posts`;
const response = await fetch(`${url}${list}?status=draft&status=published`, {
  headers: { authorization: `Bearer ${key}` },
});
const api = { organization, key, list: await response.json() };
await server.stop();

// What the binary prints about it at any time, then the folder for each engine.
const questions = [
  'user list',
  'audit list --limit 1000',
  'hook list',
  'integration list',
  'trigger list',
  `trigger show ${news}`,
  'trigger runs',
  'roundup list',
  ...['key list', 'page show', 'post list', 'post list --trash', 'post export', 'delivery list'].map(
    (words) => `${words} --organization ${organization}`,
  ),
  ...(await json('hook', 'list')).map(({ id }: { id: string }) => `hook messages ${id}`),
  ...(await json('post', 'list', ...org)).map(({ id }: { id: string }) => `post show ${id}`),
];
const answers: Record<string, unknown> = {};
for (const words of questions) answers[words] = await json(...words.split(' '));
const [, version = ''] = /^tidings (\S+)/.exec(await run(['--version'])) ?? [];
const kept = join(root, 'test/fixtures/releases', version);
rmSync(kept, { recursive: true, force: true });
mkdirSync(kept, { recursive: true });
await json('backup', join(kept, 'tidings.backup'));
await json('backup', '--key-only', join(kept, 'secret.key'));
const lines = (values: object) =>
  `{\n${Object.entries(values)
    .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(',\n')}\n}\n`;
await Bun.write(join(kept, 'answers.json'), lines({ url, api, ...answers }));

await using postgres = await startPostgres();
const database = await postgres.createEmptyDatabase();
await json('move', '--to', database);
await using sql = new SQL(database, { max: 1 });
const tables = await sql`
  SELECT relname AS name, string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns
  FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
  WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND attnum > 0 AND attgenerated = '' AND NOT attisdropped
  GROUP BY relname ORDER BY relname`;
const statements: string[] = [];
for (const { name, columns } of tables) {
  const [{ rows }] = await sql.unsafe(
    `SELECT json_agg(t)::text AS rows FROM (SELECT ${columns} FROM "${name}") t`,
  );
  if (rows !== null)
    statements.push(
      `INSERT INTO "${name}" (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM json_populate_recordset(NULL::"${name}", $rows$${rows}$rows$);\n`,
    );
}
for (const { name, value } of await sql`
  SELECT sequencename AS name, last_value AS value FROM pg_sequences WHERE last_value IS NOT NULL ORDER BY 1`)
  statements.push(`SELECT setval('${name}', ${value});\n`);
await Bun.write(join(kept, 'postgres.sql'), statements.join(''));
for (const each of [github, receiver]) each[Symbol.dispose]();
remove();
process.exit();

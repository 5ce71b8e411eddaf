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
  await json('key', 'create', ...org, '--name', endless);
  const { id: old } = await json('key', 'create', ...org, '--name', 'Old');
  await json('key', 'revoke', old);
  await json('integration', 'connect', 'linear', ...org);
  await json('integration', 'connect', 'github', ...org, '--repository', `acme/${endless}`);

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

import { afterEach, beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { samplePayload } from '../../src/providers/index.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { changed } from '../support/payloads.ts';
import { type ServerProcess, startTidings } from '../support/server.ts';
import { until } from '../support/until.ts';

let folder: ReturnType<typeof temporaryFolder>;
let server: ServerProcess;
let integrationId: string;

beforeEach(async () => {
  folder = temporaryFolder();
  server = await startTidings(dataDir());
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const connect = ['integration', 'connect', 'github', '--organization', 'acme'];
  ({ integrationId } = await json(...connect, '--repository', 'acme/rocket'));
});

afterEach(async () => {
  await server.stop('SIGKILL');
  folder.remove();
});

const dataDir = () => join(folder.path, 'data');
const json = (...words: string[]) => cliJson(dataDir(), words);

/** Sends a sample, or a payload, to the server over HTTP, and waits until the triggers have done what it asked for. */
async function send(event: string, ...words: string[]): Promise<void> {
  const target = ['--integration', integrationId, '--url', server.url];
  expect(await json('send', 'github', event, ...target, ...words)).toMatchObject({ status: 200 });
  // The runs are queued in the delivery's own transaction: none left means that all is done.
  await until(
    () => json('trigger', 'runs'),
    (runs) => runs.length === 0,
  );
}

/** The sample of an edited release, a minute from now, with other notes. */
async function sendEdited(notes: string): Promise<void> {
  const now = new Date(Date.now() + 60_000);
  const sample =
    samplePayload('github', 'release', { repository: 'acme/rocket', now, action: 'edited' }) ?? {};
  const path = join(folder.path, 'payload.json');
  await Bun.write(path, JSON.stringify(changed(sample, { 'release.body': notes })));
  await send('release', '--payload', path);
}

const listPosts = () => json('post', 'list', '--organization', 'acme');

async function onlyPost() {
  const posts = await listPosts();
  expect(posts).toHaveLength(1);
  return posts[0];
}

test('a release becomes a draft, once, and follows the release until a person takes it over', async () => {
  const trigger = await json('trigger', 'create', '--integration', integrationId, '--event', 'release');

  await send('release');
  const draft = await onlyPost();
  expect(draft).toMatchObject({
    title: 'Rocket 2.4.0: quieter engines',
    status: 'draft',
    contentType: 'changelog',
    sourceMetadata: { repository: 'acme/rocket', version: '2.4.0', triggerId: trigger.id },
  });

  expect(draft.markdown).toContain('### Added\n- Quiet mode: engines start 40 % softer');
  expect(draft.content).toContain('- Quiet mode: engines start 40 % softer');

  await send('release');
  expect((await onlyPost()).id).toBe(draft.id);

  await send('release', '--action', 'edited');
  const edited = await onlyPost();
  expect(edited.id).toBe(draft.id);
  expect(draft.markdown).not.toContain('two pads');
  expect(edited.markdown).toContain('- A crash when two pads shared a name');

  const text = join(folder.path, 'text.md');
  await Bun.write(text, 'In our own words.\n');
  const own = await json('post', 'edit', draft.id, '--title', 'Quiet!', '--markdown', text);
  await sendEdited('- Wider pads');
  expect(await onlyPost()).toEqual(own);
  expect(await json('post', 'suggestion', 'show', draft.id)).toMatchObject({
    postId: draft.id,
    title: 'Rocket 2.4.0: quieter engines',
    markdown: '- Wider pads',
    changes: [
      { kind: 'removed', line: 'Quiet!' },
      { kind: 'added', line: 'Rocket 2.4.0: quieter engines' },
      { kind: 'same', line: '' },
      { kind: 'removed', line: 'In our own words.' },
      { kind: 'added', line: '- Wider pads' },
    ],
  });

  await json('post', 'suggestion', 'take', draft.id);
  expect(await onlyPost()).toMatchObject({
    id: draft.id,
    title: 'Rocket 2.4.0: quieter engines',
    markdown: '- Wider pads',
    status: 'draft',
  });
  const { exitCode } = await cli(dataDir(), ['post', 'suggestion', 'show', draft.id]);
  expect(exitCode).toBe(1);

  // The text is the trigger's own again, and follows the release.
  await sendEdited('- Wider pads\n- Longer legs');
  expect(await onlyPost()).toMatchObject({ id: draft.id, markdown: '- Wider pads\n- Longer legs' });
});

test('each trigger makes its own of the same deliveries, and the API serves what is published', async () => {
  const create = ['trigger', 'create', '--integration', integrationId];
  await json(...create, '--event', 'release', '--publish');
  await json(...create, '--event', 'release', '--content-type', 'linkedin_post');
  await json(...create, '--event', 'push');
  const { key } = await json('key', 'create', '--organization', 'acme', '--name', 'Site');

  await send('push');
  await send('pull_request');
  await send('release');

  const titles = (await listPosts()).map(({ status, contentType }: Record<string, string>) =>
    [status, contentType].join(' '),
  );
  expect(titles.sort()).toEqual(['draft changelog', 'draft linkedin_post', 'published changelog']);
  const response = await fetch(`${server.url}/v1/acme/posts`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(await response.json()).toMatchObject({
    posts: [{ title: 'Rocket 2.4.0: quieter engines', status: 'published' }],
  });
});

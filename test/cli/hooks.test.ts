import { afterAll, expect, test } from 'bun:test';
import { createHookSender } from '../../src/readers/hooks/send.ts';
import { readConfig } from '../../src/server/config.ts';
import { openServices } from '../../src/server/services.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { startHookReceiver, verified } from '../support/hook-receiver.ts';

const folder = temporaryFolder();
const receiver = startHookReceiver();
afterAll(() => {
  receiver[Symbol.dispose]();
  folder.remove();
});

const environment = { HOOK_PRIVATE_HOSTS: '127.0.0.1', LOG_LEVEL: 'silent', DATA_DIR: folder.path };
const json = (...words: string[]) => cliJson(folder.path, words, { environment });
const run = (...words: string[]) => cli(folder.path, words, { environment });

async function send(): Promise<void> {
  const services = await openServices(readConfig({}, environment), 'server');
  await createHookSender(services)();
  await services.close();
}

test('a hook is created, tested, listed, sent again, disabled and deleted', async () => {
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  expect((await run('hook', 'list')).stdout).toStartWith('No hooks yet.');
  const words = ['hook', 'create', '--organization', 'acme', '--name', 'Site', '--url'];
  const { secret, ...hook } = await json(...words, receiver.at('/hook'));
  expect(hook).toEqual({
    id: expect.stringMatching(/^hook_/),
    organizationId: 'acme',
    name: 'Site',
    kind: 'signed',
    about: 'posts',
    host: new URL(receiver.at('/')).host,
    isEnabled: true,
    createdAt: expect.any(String),
  });
  expect(await json('hook', 'list', '--organization', 'acme')).toEqual([hook]);

  expect(await json('hook', 'test', hook.id)).toMatchObject({ statusCode: 204, problem: null });
  receiver.responses.set('/hook', [() => new Response('no', { status: 500 })]);
  expect(await run('hook', 'test', hook.id)).toMatchObject({ exitCode: 1, stdout: 'Responded 500.\n\nno\n' });

  const posts = `${folder.path}/posts.json`;
  await Bun.write(
    posts,
    JSON.stringify([{ id: 'p1', title: 'Faster', markdown: 'Text', status: 'published' }]),
  );
  await json('post', 'import', '--organization', 'acme', posts);
  await send();
  const [message] = await json('hook', 'messages', hook.id);
  expect(message).toMatchObject({
    type: 'post.published',
    title: 'Faster',
    state: 'queued',
    attempts: [{ statusCode: 500, problem: 'Responded 500.', response: 'no' }],
    nextAttemptAt: expect.any(String),
  });
  expect((await run('hook', 'messages', hook.id)).stdout).toContain('retrying');

  expect(await json('hook', 'disable', hook.id)).toMatchObject({ isEnabled: false });
  expect((await run('hook', 'resend', hook.id)).stderr).toBe(
    'error: The hook is disabled. Enable it first. "hook enable" enables it.\n',
  );
  await json('hook', 'enable', hook.id);
  expect(await json('hook', 'resend', hook.id)).toEqual({ hookId: hook.id, queued: 1 });
  receiver.responses.clear();
  await send();
  const rotated = await json('hook', 'rotate-secret', hook.id);
  const last = receiver.requests.at(-1);
  if (last === undefined) throw new Error('no request');
  expect(verified(secret, last).data).toMatchObject({ postId: 'p1' });
  expect(rotated.secret).toStartWith('whsec_');
  expect(await json('hook', 'resend', hook.id, '--message', message.id)).toMatchObject({ queued: 1 });

  const doctor = JSON.parse((await run('doctor', '--offline', '--json')).stdout);
  expect(doctor.checks).toContainEqual({
    name: 'hooks',
    status: 'ok',
    message: 'No hook fails (1 hook)',
  });
  expect(await json('hook', 'delete', hook.id)).toEqual({ id: hook.id, deleted: true });
  expect((await run('hook', 'messages', hook.id)).stderr).toContain('"hook list" lists those that exist.');
});

test.each(['create', 'test'])('the help of hook %s says whose environment counts', async (command) => {
  const { stdout } = await run('hook', command, '--help');
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    "set HOOK_PRIVATE_HOSTS for this command too. It does not read the server's environment.",
  );
});

test('a URL in a private network is refused, and the refusal names the setting', async () => {
  const words = ['hook', 'create', '--organization', 'acme', '--name', 'Site', '--url'];
  expect(await run(...words, 'https://192.168.1.5/build')).toMatchObject({
    exitCode: 2,
    stderr:
      'error: --url must be on the public internet. To allow this host, set HOOK_PRIVATE_HOSTS=192.168.1.5 for the server and for commands\n',
  });
});

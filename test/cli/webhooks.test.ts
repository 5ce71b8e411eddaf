import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { tidings } from '../../src/lib/build.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { type ServerProcess, startTidings } from '../support/server.ts';

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(async () => {
  folder = temporaryFolder();
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
});

afterEach(() => folder.remove());

const dataDir = () => join(folder.path, 'data');
const environment = { PUBLIC_URL: 'https://tidings.example.com' };
const run = (...words: string[]) => cli(dataDir(), words, { environment });

const json = (...words: string[]) => cliJson(dataDir(), words, { environment });

async function fails(exitCode: number, ...words: string[]): Promise<string> {
  const result = await run(...words);
  expect(result.exitCode).toBe(exitCode);
  return result.stderr;
}

const connect = () =>
  json('integration', 'connect', 'github', '--organization', 'acme', '--repository', 'acme/rocket');

describe('integration', () => {
  test('connect tells the URL and the secret once, list never tells the secret', async () => {
    const github = await connect();
    expect(github).toEqual({
      integrationId: expect.stringMatching(/^int_\w+$/),
      repositoryId: expect.stringMatching(/^repo_\w+$/),
      webhookUrl: `https://tidings.example.com/api/webhooks/github/acme/${github.integrationId}/${github.repositoryId}`,
      secret: expect.stringMatching(/^\w{40,}$/),
    });
    const linear = await json('integration', 'connect', 'linear', '--organization', 'acme');
    expect(linear).toEqual({
      integrationId: expect.any(String),
      webhookUrl: `https://tidings.example.com/api/webhooks/linear/acme/${linear.integrationId}`,
      secret: expect.any(String),
    });
    const list = await json('integration', 'list');
    expect(list).toMatchObject([
      {
        id: github.integrationId,
        type: 'github',
        enabled: true,
        repositories: [{ fullName: 'acme/rocket' }],
      },
      { id: linear.integrationId, type: 'linear', enabled: true, repositories: [] },
    ]);
    expect(JSON.stringify(list)).not.toContain(github.secret);
    expect(await json('integration', 'list', '--organization', 'acme')).toEqual(list);
    expect(await fails(1, 'integration', 'list', '--organization', 'other')).toContain('other not found');
  });

  test('a repository is taken as its URL too, and stored by its name', async () => {
    const url = 'https://github.com/acme/rocket.git';
    const words = ['integration', 'connect', 'github', '--organization', 'acme', '--repository'];
    const { integrationId: id } = await json(...words, url);
    expect(await json('integration', 'add', id, 'git@github.com:acme/engine.git')).toMatchObject({
      place: 'acme/engine',
    });
    const trigger = ['trigger', 'create', '--integration', id, '--event', 'release', '--repository'];
    expect(await json(...trigger, 'https://github.com/acme/engine/')).toMatchObject({
      repositoryId: expect.stringMatching(/^repo_/),
    });
    await json('integration', 'remove', id, 'https://github.com/acme/engine/tree/main');
    expect(await json('integration', 'list')).toMatchObject([
      { repositories: [{ fullName: 'acme/rocket' }] },
    ]);
    expect(await fails(2, ...words, 'https://ann:token@gitlab.com/acme/rocket')).toBe(
      'error: Repository must be OWNER/NAME or the URL of a repository at github.com\n',
    );
    const own = await cli(dataDir(), [...words, 'https://github.acme.test/acme/rocket', '--json'], {
      environment: { ...environment, GITHUB_API_URL: 'https://github.acme.test/api/v3' },
    });
    expect(own).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await json('integration', 'list')).toHaveLength(2);
  });

  test.each([
    ['https://tidings.example.com', null],
    ['http://localhost:3000', "GitHub can't reach http://localhost:3000 from the internet"],
  ])('prints the next steps, and warns about %s', async (url, warning) => {
    const words = ['integration', 'connect', 'github', '--organization', 'acme', '--repository', 'a/b'];
    const { stdout } = await cli(dataDir(), words, { environment: { PUBLIC_URL: url } });
    if (warning === null) expect(stdout).not.toContain('public addresses');
    else expect(stdout).toContain(warning);
    const id = /int_\w+/.exec(stdout)?.[0];
    expect(stdout).toContain(`${tidings} trigger create --integration ${id} --event release`);
    expect(stdout).toContain('Copy the secret now');
    expect(stdout).toContain('https://github.com/a/b/settings/hooks/new');
    expect((await run('integration', 'list')).stdout).toMatch(/ github +active +by hand +acme +a\/b/);
  });

  test('connect --app prints the page that creates an App', async () => {
    const words = ['integration', 'connect', 'github', '--organization'];
    const dashboardUrl = 'https://tidings.example.com/dashboard/acme/integrations/github-app/new';
    expect(await json(...words, 'acme', '--app')).toEqual({ dashboardUrl });
    expect((await run(...words, 'acme', '--app')).stdout).toContain(dashboardUrl);
    expect(await fails(1, ...words, 'nobody', '--app')).toContain('nobody');
    for (const more of [['--token', 'x'], ['--manual'], ['--repository', 'acme/rocket']]) {
      expect(await fails(2, ...words, 'acme', '--app', ...more)).toContain('--app cannot be combined');
    }
    expect(await json('integration', 'list')).toEqual([]);
  });

  test('disable, enable, rotate, disconnect', async () => {
    const { integrationId: id, secret } = await connect();
    expect(await json('integration', 'disable', id)).toMatchObject({ id, enabled: false });
    expect(await json('integration', 'enable', id)).toMatchObject({ id, enabled: true });
    const rotated = await json('integration', 'rotate-secret', id);
    expect(Object.keys(rotated)).toEqual(['secret']);
    expect(rotated.secret).not.toBe(secret);
    const ended = await json('integration', 'rotate-secret', id, '--now');
    expect(Object.keys(ended)).toEqual(['secret']);
    expect((await run('integration', 'rotate-secret', id, '--now')).stdout).toContain(
      'The old one no longer works. Tidings rejects deliveries until you set the new one at GitHub.',
    );
    expect((await run('integration', 'rotate-secret', id)).stdout).toContain(
      'The old one works for another 24 hours.',
    );
    expect(await json('integration', 'disconnect', id)).toEqual({ id, deleted: true });
    expect(await json('integration', 'list')).toEqual([]);
    for (const verb of ['disable', 'enable', 'rotate-secret', 'disconnect']) {
      expect(await fails(1, 'integration', verb, id)).toContain(`Integration ${id} not found`);
    }
  });

  test('refusals', async () => {
    const github = ['integration', 'connect', 'github', '--organization'];
    expect(await fails(1, ...github, 'nobody', '--repository', 'a/b')).toContain(
      'Organization nobody not found',
    );
    expect(await fails(2, ...github, 'acme', '--repository', 'rocket')).toContain(
      'Repository must be OWNER/NAME',
    );
    expect(await fails(2, ...github, 'acme')).toContain('--repository');
    expect(await json('integration', 'list')).toEqual([]);
  });

  test('a token from standard input may have no end', async () => {
    const { integrationId: id } = await connect();
    const command = ['src/cli.ts', '--data-dir', dataDir(), 'integration', 'set-token', id, '--token', '-'];
    const endless = Bun.spawn(['yes'], { stderr: 'ignore' });
    const child = Bun.spawn([process.execPath, ...command], {
      stdin: endless.stdout,
      stderr: 'pipe',
      timeout: 10_000,
    });
    const stderr = await new Response(child.stderr).text();
    endless.kill();
    expect([await child.exited, stderr]).toEqual([2, expect.stringContaining('token')]);
  });

  test('a refusal names the command that helps', async () => {
    const { integrationId: id } = await connect();
    expect(await fails(1, 'integration', 'repair', id)).toContain(
      `Integration ${id} has no usable GitHub token. To give it a token: ${tidings} integration set-token ${id} --token TOKEN`,
    );
    expect(await fails(1, 'integration', 'remove', id, 'acme/rocket')).toContain(
      `Disconnect the integration instead: ${tidings} integration disconnect ${id}`,
    );
    expect(await fails(1, 'integration', 'remove', id, 'acme/boat')).toContain(
      `Integration ${id} has no acme/boat. "integration list" shows what it has.`,
    );
  });
});

describe('send and delivery', () => {
  let server: ServerProcess;
  let id: string;

  beforeEach(async () => {
    server = await startTidings(dataDir());
    id = (await connect()).integrationId;
  });

  afterEach(() => server.stop());

  const send = (event: string, ...words: string[]) =>
    json('send', 'github', event, '--integration', id, '--url', server.url, ...words);

  test('a sample is signed, taken and in the log', async () => {
    const sent = await send('release', '--delivery', 'my-delivery');
    expect(sent).toMatchObject({
      request: {
        method: 'POST',
        url: expect.stringContaining(`/api/webhooks/github/acme/${id}/repo_`),
        event: 'release',
      },
      status: 200,
      body: {
        received: true,
        data: { delivery: 'my-delivery', processed: { type: 'release', action: 'published' } },
      },
      durationMs: expect.any(Number),
    });
    const entries = await json('delivery', 'list', '--organization', 'acme');
    expect(entries).toEqual([
      {
        id: expect.stringMatching(/^dlv_/),
        organizationId: 'acme',
        integrationId: id,
        integrationType: 'github',
        repositoryId: expect.stringMatching(/^repo_/),
        title: expect.stringMatching(/^Release v.* published$/),
        status: 'processed',
        statusCode: 200,
        referenceId: 'my-delivery',
        payload: { event: 'release', action: 'published', data: sent.body.data.processed.data },
        reason: null,
        count: 1,
        sameBodyAs: null,
        replayOf: null,
        isPolled: false,
        headers: expect.objectContaining({
          'user-agent': 'GitHub-Hookshot/tidings',
          'x-github-event': 'release',
        }),
        durationMs: expect.any(Number),
        retentionDays: 7,
        createdAt: expect.stringMatching(/Z$/),
      },
    ]);
    expect(await json('delivery', 'show', entries[0].id)).toEqual(entries[0]);
    expect(await json('delivery', 'show', 'my-delivery')).toEqual(entries[0]);
    expect((await run('delivery', 'show', 'my-delivery')).stdout).toContain('processed, answered 200 in');
  });

  test('twice is a duplicate, a bad signature is refused, each in the log; filters find them', async () => {
    const [first, second] = await send('push', '--twice');
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.body.message).toStartWith('Duplicate delivery');
    expect(await send('push', '--bad-signature')).toMatchObject({
      status: 401,
      body: { error: 'Invalid webhook signature' },
    });

    const statuses = async (...words: string[]) =>
      (await json('delivery', 'list', '--organization', 'acme', ...words)).map(
        ({ status }: { status: string }) => status,
      );
    expect(await statuses()).toEqual(['rejected', 'duplicate', 'processed']);
    expect(await statuses('--status', 'duplicate')).toEqual(['duplicate']);
    expect(await statuses('--delivery', first.request.delivery)).toEqual(['duplicate', 'processed']);
    expect(await statuses('--event', 'release')).toEqual([]);
    expect(await statuses('--integration', id, '--since', '1h', '--limit', '1', '--page', '2')).toEqual([
      'duplicate',
    ]);
    expect(await statuses('--since', '2099-01-01')).toEqual([]);
    expect(await statuses('--via', 'webhook')).toHaveLength(3);
    expect(await statuses('--via', 'polling')).toEqual([]);
    expect((await run('delivery', 'list', '--organization', 'acme')).stdout).toContain('rejected 401');
  });

  test('any payload can be sent', async () => {
    const path = join(folder.path, 'payload.json');
    await Bun.write(path, '{"action":"created"}');
    expect(await send('gollum', '--payload', path)).toMatchObject({ status: 200, body: { received: true } });
    const [{ reason }] = await json('delivery', 'list', '--organization', 'acme');
    expect((await run('delivery', 'list', '--organization', 'acme')).stdout).toContain(`: ${reason}`);
    await Bun.write(path, '{"action":"published"}');
    const words = ['send', 'github', 'release', '--integration', id, '--url', server.url, '--payload', path];
    expect(await fails(1, ...words)).toContain('The server rejected the delivery with status 400.');
  });

  test('refusals', async () => {
    const sending = ['send', 'github', 'release', '--integration'];
    expect(await fails(1, ...sending, 'int_none')).toContain('Integration int_none not found');
    expect(await fails(1, ...sending, id, '--url', 'http://127.0.0.1:1')).toContain(
      'Nothing answers at http://127.0.0.1:1',
    );
    expect(await fails(2, 'send', 'github', 'gollum', '--integration', id)).toContain(
      'There is no sample of gollum',
    );
    expect(await fails(1, 'send', 'linear', 'Issue', '--integration', id)).toContain(
      'is for GitHub, not Linear.',
    );
    expect(await fails(2, 'send', 'bitbucket', 'push')).toContain("unknown command 'bitbucket'");
    expect(await fails(1, 'delivery', 'show', 'none')).toContain('Delivery none not found');
    expect(await fails(1, 'delivery', 'list', '--organization', 'nobody')).toContain(
      'Organization nobody not found',
    );
    expect(await fails(2, 'delivery', 'list', '--organization', 'acme', '--since', 'yesterday')).toContain(
      '30d',
    );
    expect(await fails(2, 'delivery', 'list', '--organization', 'acme', '--status', 'done')).toContain(
      'duplicate',
    );
  });
});

test('sweep tells what it removed, and with --dry-run what it would', async () => {
  const server = await startTidings(dataDir());
  const { integrationId: id } = await connect();
  await json('send', 'github', 'push', '--integration', id, '--url', server.url);
  await server.stop();
  expect(await json('sweep')).toEqual({ deliveryIds: 0, logs: 0, sessions: 0 });
  expect(await json('sweep', '--as-of', '2099-01-01', '--dry-run')).toEqual({
    deliveryIds: 1,
    logs: 1,
    sessions: 0,
  });
  expect(await json('sweep', '--as-of', '2099-01-01')).toEqual({ deliveryIds: 1, logs: 1, sessions: 0 });
  expect(await json('delivery', 'list', '--organization', 'acme')).toEqual([]);
  expect(await fails(2, 'sweep', '--as-of', 'soon')).toContain('ISO 8601');
  expect((await run('sweep')).stdout).toBe('Removed 0 delivery IDs and 0 log entries.\n');
});

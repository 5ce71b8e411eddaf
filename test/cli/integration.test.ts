import { afterEach, beforeEach, expect, test } from 'bun:test';
import { tidings } from '../../src/lib/build.ts';
import { createApp } from '../../src/server/app.ts';
import { readConfig } from '../../src/server/config.ts';
import { openServices } from '../../src/server/services.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { compose } from '../support/drafts.ts';
import { type GithubApi, startGithubApi } from '../support/github-api/server.ts';
import type { StoredRepository } from '../support/github-api/state.ts';
import { releaseOf } from '../support/hooks.ts';

// The commands that manage the webhooks of an integration, beside a GitHub that delivers.

let folder: ReturnType<typeof temporaryFolder>;
let github: GithubApi;
let rocket: StoredRepository;
let token: string;
let server: Bun.Server<undefined>;
let isAway: boolean;

beforeEach(async () => {
  folder = temporaryFolder();
  github = startGithubApi();
  const rights = { ann: 'admin' } as const;
  rocket = github.addRepository('acme/rocket', { rights });
  github.addRepository('acme/engine', { rights });
  const permissions = { repository_hooks: 'write', contents: 'read', pull_requests: 'read' } as const;
  token = github.addToken({ user: 'ann', permissions });
  isAway = false;
  server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: receive });
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
});

afterEach(async () => {
  await github.settled();
  await server.stop(true);
  github[Symbol.dispose]();
  folder.remove();
});

const environment = () => ({ GITHUB_API_URL: github.url, PUBLIC_URL: server.url.origin });
const json = (...words: string[]) => cliJson(folder.path, words, { environment: environment() });

/** A server on the data folder. */
async function receive(request: Request): Promise<Response> {
  if (isAway) return new Response(null, { status: 502 });
  const config = readConfig({}, { DATA_DIR: folder.path, LOG_LEVEL: 'silent', ...environment() });
  const services = await openServices(config);
  try {
    return await createApp({ ...services, compose, publicUrl: () => server.url.origin }).fetch(request);
  } finally {
    await services.close();
  }
}

/** The output of a command, without what varies. */
async function said(exitCode: number, ...words: string[]): Promise<string> {
  const result = await cli(folder.path, words, { environment: environment() });
  await github.settled();
  expect({ words, ...result }).toMatchObject({ words, exitCode });
  return (result.stdout + result.stderr)
    .replaceAll(/\b(int|repo)_\w+/g, '$1_…')
    .replaceAll(/(?<=webhook )\d+/g, 'N')
    .replaceAll(/ {2,}/g, '  ')
    .replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?/g, 'TIME');
}

type Step = [command: string, says: string, exitCode?: 1];

/** Runs commands on an integration, one after the other. */
async function expectSteps(id: string, steps: readonly Step[]): Promise<void> {
  for (const [command, says, exitCode = 0] of steps) {
    const [verb = '', ...rest] = command.split(' ');
    expect(await said(exitCode, 'integration', verb, id, ...rest)).toContain(says);
  }
}

const connect = (...words: string[]) => [
  ...['integration', 'connect', 'github', '--organization', 'acme'],
  ...['--token', token, ...words],
];

/** An integration of acme/rocket with the token. */
async function connected(): Promise<string> {
  const { integrationId } = await json(...connect('--repository', 'acme/rocket'));
  await github.settled();
  return integrationId;
}

test('connect lists what a token can reach, and tells what came of the webhook', async () => {
  const place = {
    id: 'acme/engine',
    name: 'acme/engine',
    providerId: expect.any(Number),
    canAdminister: true,
  };
  expect(await json(...connect('--list'))).toMatchObject([place, { name: 'acme/rocket' }]);
  expect(await said(0, ...connect('--list'))).toBe(
    'REPOSITORY  CAN BE CONNECTED\nacme/engine  yes\nacme/rocket  yes\n\nConnect with --repository OWNER/NAME\n',
  );
  const made = await said(0, ...connect('--repository', 'acme/rocket'));
  expect(made).toStartWith('acme/rocket: webhook N is up to date; its ping arrived.\n\nIntegration  int_…\n');
  expect(made).toContain('trigger create --integration int_… --event release');
  isAway = true;
  expect(await said(1, ...connect('--repository', 'acme/engine'))).toContain('did not arrive: 502.');
  const polled = await said(0, ...connect('--repository', 'acme/engine', '--poll'));
  expect(polled).toContain('Polled  acme/engine\n\nTidings asks GitHub at least once a minute.');
  expect(await said(0, 'integration', 'list')).toContain(
    'int_…  github  active  managed  acme  acme/rocket\nint_…  github  active  polling  acme  acme/engine\n',
  );
});

test('doctor fails for a deleted webhook, and repair creates it again', async () => {
  const id = await connected();
  await expectSteps(id, [['doctor', '✓ hook (acme/rocket): The webhook N is active and delivers']]);
  rocket.hooks.splice(0);
  await expectSteps(id, [
    [
      'doctor',
      `✗ hook (acme/rocket): Somebody deleted the webhook N at the provider\n  ${tidings} integration repair int_…`,
      1,
    ],
    ['repair', 'acme/rocket: webhook N is up to date; its ping arrived.'],
    ['doctor', '✓ hook (acme/rocket)'],
  ]);
});

test('missed names deliveries that failed, and has them sent again', async () => {
  const id = await connected();
  isAway = true;
  await github.emit(rocket, 'release', releaseOf(rocket, 'v1'));
  isAway = false;
  expect(await json('integration', 'missed', id)).toMatchObject({
    counts: { arrived: 0, failed: 1, 'never-arrived': 0 },
    missed: [{ place: 'acme/rocket', event: 'release', action: 'published', fate: 'failed' }],
    untold: [],
  });
  const row = 'ID  TIME  release published  failed  Answered 502 and not in the log';
  await expectSteps(id, [
    ['missed', row],
    ['missed', `To redeliver them: ${tidings} integration missed int_… --redeliver`],
    ['doctor', row, 1],
    ['missed --redeliver none', 'Delivery none is not missing.', 1],
    ['missed --redeliver', 'ID: the provider redelivers it\n'],
    ['missed --redeliver', 'No delivery is missing.'],
    ['missed', '1 arrived, 0 failed, 0 never arrived.'],
  ]);
});

test('repositories, tokens and the way of delivery can be changed', async () => {
  await expectSteps(await connected(), [
    ['add acme/engine', 'acme/engine: webhook N is up to date; its ping arrived.'],
    ['remove acme/engine', 'Removed: acme/engine\n'],
    ['remove acme/rocket', 'integration disconnect int_…', 1],
    ['rotate-secret', 'It is already set at GitHub. The old one works for another 24 hours.'],
    [`set-token --token ${token}`, 'acme/rocket: webhook N is up to date; its ping arrived.'],
    ['use-polling', 'Polled from now on: acme/rocket.\n\nTidings deletes the webhooks after the next round.'],
    [`set-token --token ${token}`, 'The token is stored. Tidings polls with it from now on.'],
    ['poll', '✓ acme/rocket: nothing new'],
    ['add acme/engine', 'acme/engine is polled from now on.'],
    ['use-webhook', 'Tidings polls until the first delivery has arrived, and once more.'],
    ['disconnect', 'Disconnected: int_…\n'],
  ]);
});

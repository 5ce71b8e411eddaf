import { afterEach, beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { CLIENT, startIdentityProvider, type TestProvider } from '../support/identity-provider.ts';

// The findings of doctor about the identity provider.

let folder: ReturnType<typeof temporaryFolder>;
let provider: TestProvider;
beforeEach(async () => {
  folder = temporaryFolder();
  provider = await startIdentityProvider();
  await cliJson(dataDir(), ['organization', 'create', '--name', 'Acme', '--id', 'acme']);
});
afterEach(() => {
  provider[Symbol.dispose]();
  folder.remove();
});

const dataDir = () => join(folder.path, 'data');

async function find(environment: Record<string, string> = {}, ...words: string[]) {
  const { stdout } = await cli(dataDir(), ['doctor', '--json', ...words], {
    environment: {
      PORT: '0',
      PUBLIC_URL: 'https://tidings.example.com',
      // Nobody else is asked.
      GITHUB_API_URL: provider.issuer,
      ALLOW_HTTP: '127.0.0.1',
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: CLIENT.clientId,
      OIDC_CLIENT_SECRET: CLIENT.clientSecret,
      OIDC_NAME: 'Acme SSO',
      ...environment,
    },
  });
  const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; message: string }[] };
  const none = { name: '', status: 'none', message: '' };
  const { name: _, ...found } = checks.find(({ name }) => name === 'identity provider') ?? none;
  return found;
}

test('a provider that knows the client, and where it leads back to', async () => {
  expect(await find()).toEqual({
    status: 'ok',
    message:
      'Acme SSO knows the client, and people come back to https://tidings.example.com/dashboard/~/oidc/callback',
  });
  expect(provider.requests).toContain('GET /keys');
});

test('offline, nothing is asked', async () => {
  expect((await find({}, '--offline')).status).toBe('ok');
  expect(provider.requests).toEqual([]);
});

test('a wrong secret', async () => {
  expect(await find({ OIDC_CLIENT_SECRET: 'wrong' })).toMatchObject({
    status: 'failed',
    message: 'Acme SSO refuses this client: invalid_client',
  });
});

test('an issuer that is written otherwise there, and keys that are away', async () => {
  provider.describe({ issuer: 'https://sso.example.com' });
  const found = await find();
  expect(found).toMatchObject({ status: 'failed' });
  expect(found).toHaveProperty('message', expect.stringContaining(`${provider.issuer} cannot be used: `));
  provider.describe({});
  provider.answers.set('/keys', () => new Response('', { status: 503 }));
  expect(await find()).toMatchObject({ status: 'failed' });
});

test('rules about organizations that do not exist', async () => {
  const rules = ['acme', 'gone'].map((organization) => ({ organization, domain: 'acme.example' }));
  expect(await find({ OIDC_RULES: JSON.stringify(rules) })).toMatchObject({
    status: 'warning',
    message: 'OIDC_RULES names organizations that do not exist: gone',
  });
});

test('a way back over plain http', async () => {
  const found = await find({
    PUBLIC_URL: 'http://tidings.internal',
    ALLOW_HTTP: '127.0.0.1,tidings.internal',
  });
  expect(found).toMatchObject({ status: 'warning' });
  expect(found).toHaveProperty(
    'message',
    expect.stringContaining('http://tidings.internal/dashboard/~/oidc/callback: without https'),
  );
});

import { afterEach, beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { CLIENT, startIdentityProvider } from '../support/identity-provider.ts';
import { root, type ServerProcess, startProcess } from '../support/server.ts';

// What the settings of the identity provider change at the start of a server.

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

/** Writes a line for each file of the libraries that loads. */
const WITNESS = `import { plugin } from 'bun';
plugin({ name: 'witness', setup(build) {
  build.onLoad({ filter: /node_modules\\/(openid-client|oauth4webapi|jose|@simplewebauthn|reflect-metadata)\\/.*\\.js$/ }, async ({ path }) => {
    process.stdout.write('loaded ' + path + '\\n');
    return { contents: await Bun.file(path).text(), loader: 'js' };
  });
} });`;

const SIGN_IN = '/dashboard/~/sign-in';
const ACCOUNT = '/dashboard/~/account';

test('without them nothing of it loads, and OIDC_PASSWORDS=off ends the sessions of passwords', async () => {
  const witness = join(folder.path, 'witness.ts');
  await Bun.write(witness, WITNESS);
  const dataDir = join(folder.path, 'data');
  await cliJson(dataDir, ['organization', 'create', '--name', 'Acme', '--id', 'acme']);
  const person = ['--email', 'ann@acme.example', '--organization', 'acme'];
  const { url: link } = await cliJson(dataDir, ['user', 'create', ...person]);
  const token = new URL(link).searchParams.get('token') ?? '';
  const provider = await startIdentityProvider();
  const start = (environment: Record<string, string> = {}) =>
    startProcess([process.execPath, '--preload', witness, join(root, 'src/cli.ts'), 'serve'], {
      dataDir,
      // A file that was compiled beside a plugin lacks what its macros make. Nobody else must find it.
      environment: { BUN_RUNTIME_TRANSPILER_CACHE_PATH: '0', ...environment },
    });
  const open = (server: ServerProcess, path: string, init: RequestInit = {}) =>
    fetch(server.url + path, { redirect: 'manual', ...init });
  const settings = {
    ALLOW_HTTP: '127.0.0.1',
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: CLIENT.clientId,
    OIDC_CLIENT_SECRET: CLIENT.clientSecret,
  };

  const plain = await start();
  expect((await open(plain, SIGN_IN)).status).toBe(200);
  expect((await open(plain, '/dashboard/~/oidc')).status).toBe(404);
  const body = new URLSearchParams({ token, password: 'quiet orange ladder wind' });
  const chosen = await open(plain, '/dashboard/~/password', { method: 'POST', body });
  const cookie = /tidings_session=[^;]+/.exec(chosen.headers.getSetCookie().join())?.[0] ?? '';
  const asAnn = (server: ServerProcess) => open(server, ACCOUNT, { headers: { cookie } });
  expect((await asAnn(plain)).status).toBe(200);
  expect(await plain.stop()).toBe(0);
  expect(plain.stdout()).not.toContain('loaded');

  const both = await start(settings);
  expect((await asAnn(both)).status).toBe(200);
  expect(both.stdout()).not.toContain('loaded');
  expect((await open(both, '/dashboard/~/oidc')).status).toBe(303);
  expect(both.stdout()).toContain('/openid-client/');
  expect(await both.stop()).toBe(0);

  const alone = await start({ ...settings, OIDC_PASSWORDS: 'off' });
  expect((await asAnn(alone)).headers.get('location')).toStartWith(SIGN_IN);
  expect(await alone.stop()).toBe(0);
  provider[Symbol.dispose]();
}, 300_000);

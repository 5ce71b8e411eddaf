import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { version } from '../../src/lib/build.ts';
import { cli, temporaryFolder } from '../support/cli.ts';

const folder = temporaryFolder();
const bodies: Record<string, () => Response> = {
  '/version.json': () => Response.json({ version: '99.0.0', url: 'https://example.com/tidings/v99.0.0' }),
  '/latest': () => Response.redirect('/version.json', 302),
  '/missing': () => new Response('no', { status: 404 }),
  '/large': () => new Response('x'.repeat(100_000)),
  '/page': () => new Response('<!doctype html>'),
  '/odd': () => Response.json({ version: '1.0.0\u001b[31m' }),
};
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: ({ url }) => bodies[new URL(url).pathname]?.() ?? new Response(null, { status: 404 }),
});
const check = (source: string, ...words: string[]) =>
  cli(join(folder.path, 'data'), ['upgrade', '--check', source, ...words]);
const path = join(folder.path, 'version.json');

beforeAll(() => Bun.write(path, JSON.stringify({ version })));
afterAll(async () => {
  await server.stop(true);
  folder.remove();
});

test('a newer release is named, and makes the exit code 1', async () => {
  for (const name of ['version.json', 'latest']) {
    expect(await check(`${server.url}${name}`)).toEqual({
      exitCode: 1,
      stdout: `Tidings 99.0.0 is newer than this version, ${version}. Its files: https://example.com/tidings/v99.0.0\n`,
      stderr: '',
    });
  }
  expect(JSON.parse((await check(`${server.url}version.json`, '--json')).stdout)).toEqual({
    version,
    newest: '99.0.0',
    isNewer: true,
    url: 'https://example.com/tidings/v99.0.0',
  });
});

test('the same version, an older one and a pre-release of this one are not newer', async () => {
  for (const each of [version, '0.0.1', `${version}-rc.1`]) {
    await Bun.write(path, JSON.stringify({ version: each }));
    const { exitCode, stdout } = await check(path);
    expect([exitCode, stdout]).toEqual([0, `This version, ${version}, is the newest.\n`]);
  }
});

test.each([
  ['a status', 'missing', 'the response was 404'],
  ['its size', 'large', 'it is too large'],
  ['a text that is no version file', 'page', 'it is not the version.json of a release'],
  ['a version that is none', 'odd', 'it is not the version.json of a release'],
])('%s is a failure that names the file', async (_, name, reason) => {
  const { exitCode, stderr } = await check(`${server.url}${name}`);
  expect([exitCode, stderr]).toEqual([1, `error: ${server.url}${name}: ${reason}\n`]);
});

test('a file that is missing is named, and nothing is created', async () => {
  const { exitCode, stderr } = await check(join(folder.path, 'none'));
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`error: ${folder.path}/none: `)]);
  expect(await Bun.file(join(folder.path, 'data/tidings.db')).exists()).toBe(false);
  expect((await cli(folder.path, ['upgrade'])).exitCode).toBe(2);
});

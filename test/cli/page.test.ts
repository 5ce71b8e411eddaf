import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';

// The public page on the command line.

const folder = temporaryFolder();
const run = (...words: string[]) => cli(folder.path, ['page', ...words, '--organization', 'acme']);
const json = (...words: string[]) => cliJson(folder.path, ['page', ...words, '--organization', 'acme']);

beforeAll(async () => {
  for (const id of ['acme', 'beta']) {
    await cliJson(folder.path, ['organization', 'create', '--name', id, '--id', id]);
  }
});
afterAll(() => folder.remove());

test('page set changes what is named, and page show has the settings and addresses', async () => {
  expect(await json('show')).toMatchObject({
    slug: 'acme',
    isPageOn: false,
    addresses: { page: null, feeds: null, widget: null, mcp: null },
  });
  await json('set', '--on', '--feeds', 'on', '--title', 'Acme news', '--accent-color', '#AA0000');
  const settings = await json('set', '--agents', 'on', '--description', 'What is new.');
  const page = 'http://localhost:3000/changelog/acme';
  expect(settings).toEqual({
    organizationId: 'acme',
    slug: 'acme',
    isPageOn: true,
    isFeedOn: true,
    isMcpOn: true,
    title: 'Acme news',
    description: 'What is new.',
    accentColor: '#aa0000',
    logoId: null,
    links: [],
    address: null,
    updatedAt: expect.any(String),
    addresses: {
      page,
      feeds: { atom: `${page}/feed.atom`, rss: `${page}/feed.rss`, json: `${page}/feed.json` },
      widget: expect.stringContaining(`<script src="${page}/widget.js" async></script>`),
      mcp: 'http://localhost:3000/mcp',
    },
  });
  expect(await json('show')).toEqual(settings);
  const { stdout } = await run('show');
  for (const line of [page, `${page}/feed.rss`, 'http://localhost:3000/mcp']) expect(stdout).toContain(line);
});

test('an own address begins the others, and none removes it', async () => {
  const moved = await json('set', '--on', '--address', 'https://news.acme.test');
  expect(moved.addresses.page).toBe('https://news.acme.test');
  expect((await json('set', '--address', 'none')).address).toBeNull();
});

test('--off takes the page away', async () => {
  await run('set', '--on');
  expect(await json('set', '--off')).toMatchObject({ isPageOn: false, addresses: { page: null } });
  const { stdout } = await run('show');
  expect(stdout).toMatch(/Public page +off/);
  expect(stdout).toContain('The public page is off. Change href to your own changelog.');
});

test.each([
  [['set'], 2, 'nothing to change. Add an option, such as --on or --title TEXT'],
  [['set', '--on', '--off'], 2, "option '--off' cannot be used with option '--on'"],
  [['set', '--feeds', 'maybe'], 2, "argument 'maybe' is invalid. Allowed choices are on, off"],
  [['set', '--slug', 'No Spaces'], 2, '--slug must be 1 to 63 lowercase letters, digits and hyphens'],
  [['set', '--accent-color', 'red'], 2, '--accent-color must be a color such as #2f6f4f'],
  [['set', '--address', 'news.acme.test'], 2, '--address must be an http or https URL'],
])('%j is refused and changes nothing', async (words, exitCode, message) => {
  const before = await json('show');
  const refused = await run(...words);
  expect(refused.exitCode).toBe(exitCode);
  expect(refused.stderr).toContain(message);
  expect(await json('show')).toEqual(before);
});

test('an address that another organization has is refused', async () => {
  await cliJson(folder.path, ['page', 'set', '--organization', 'beta', '--slug', 'beta-news']);
  const { exitCode, stderr } = await run('set', '--slug', 'beta-news');
  expect(exitCode).toBe(1);
  expect(stderr).toContain('The address /changelog/beta-news is in use. Choose another one');
});

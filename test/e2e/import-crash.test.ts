import { afterAll, beforeAll, expect, test } from 'bun:test';
import { systemClock } from '../../src/lib/time.ts';
import type { Post } from '../../src/posts/model.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { type Happening, projectOf } from '../support/github-api/project.ts';
import { type GithubApi, startGithubApi } from '../support/github-api/server.ts';
import { rounds } from '../support/rounds.ts';
import { program } from '../support/server.ts';
import { until } from '../support/until.ts';

// Kills the command at its requests, starts it again, and compares the posts with those of an unbroken run.

/** Two pages of releases, some without notes, and two pages of pull requests. */
const PAST: Happening[] = [
  { at: '2025-01-01T00:00:00Z', push: ['chore: start'] },
  ...Array.from({ length: 130 }, (_, index): Happening[] => {
    const hour = (minutes: number) => new Date(Date.UTC(2025, 0, 2, index, minutes)).toISOString();
    return [
      { at: hour(1), merge: 1_000 + index, title: `feat: part ${index}` },
      { at: hour(2), release: `v1.${index}.0`, notes: index % 60 === 3 ? null : `Notes of ${index}.` },
    ];
  }).flat(),
];

let github: GithubApi;
let expected: object[];
let requests: number;

beforeAll(async () => {
  github = startGithubApi({ clock: systemClock });
  github.limits.anonymous = 100_000;
  projectOf(github.addRepository('acme/rocket', { isPrivate: false }), systemClock, PAST);
  const folder = await newFolder();
  expect(await importReleases(folder.path)).toBe(0);
  requests = github.requests.length;
  expected = await textsOf(folder.path);
  folder.remove();
}, 300_000);
afterAll(() => github[Symbol.dispose]());

async function newFolder() {
  const folder = temporaryFolder();
  await cliJson(folder.path, ['organization', 'create', '--name', 'Acme', '--id', 'acme']);
  return folder;
}

function startImport(dataDir: string) {
  const words = ['history', 'acme/rocket', '--organization', 'acme'];
  return Bun.spawn([...program, ...words], {
    env: {
      PATH: Bun.env.PATH,
      HOME: Bun.env.HOME,
      DATA_DIR: dataDir,
      GITHUB_API_URL: github.url,
      LOG_LEVEL: 'silent',
    },
    stdout: 'ignore',
    stderr: 'inherit',
  });
}

const importReleases = (dataDir: string) => startImport(dataDir).exited;

/** The posts without what differs between two databases. */
async function textsOf(dataDir: string): Promise<object[]> {
  const posts: Post[] = await cliJson(dataDir, ['post', 'list', '--organization', 'acme', '--limit', '1000']);
  return posts.map(({ id: _, updatedAt: __, sourceMetadata, ...post }) => {
    const { deliveryId: ___, triggerId: ____, ...source } = sourceMetadata ?? {};
    return { ...post, source };
  });
}

const APART = rounds(5, 1);

test(`killed at requests ${APART} apart and started again, the command gives the same posts`, async () => {
  expect(expected).toHaveLength(130);
  // The repository twice, two pages of releases, two of pull requests, and the first of these again.
  expect(requests).toBeGreaterThanOrEqual(6);
  for (let at = 0; at < requests; at += APART) {
    const folder = await newFolder();
    const reached = Promise.withResolvers<void>();
    const killed = Promise.withResolvers<Response>();
    github.failNext(
      () => {
        reached.resolve();
        return killed.promise;
      },
      { after: at },
    );
    const process = startImport(folder.path);
    await reached.promise;
    process.kill('SIGKILL');
    await process.exited;
    killed.resolve(new Response(null, { status: 503 }));
    expect(await importReleases(folder.path)).toBe(0);
    expect(await textsOf(folder.path)).toEqual(expected);
    folder.remove();
  }
}, 600_000);

test('killed while it writes posts, it writes the rest', async () => {
  const folder = await newFolder();
  const process = startImport(folder.path);
  const count = async () =>
    (await cliJson(folder.path, ['post', 'list', '--organization', 'acme', '--limit', '1000'])).length;
  await until(count, (posts) => posts > 0);
  process.kill('SIGKILL');
  await process.exited;
  expect(await importReleases(folder.path)).toBe(0);
  expect(await textsOf(folder.path)).toEqual(expected);
  folder.remove();
}, 600_000);

import { expect, test } from 'bun:test';
import { githubApi } from '../../../src/providers/github/api/index.ts';
import { fixedClock } from '../clock.ts';
import { githubSchemas } from '../github.ts';
import { imageFixture } from '../media.ts';
import { type Happening, projectOf } from './project.ts';
import { startReading } from './reading.ts';
import { FINE, SECRET } from './rocket.ts';
import { startGithubApi } from './server.ts';

const HAPPENINGS: Happening[] = [
  { push: ['chore: start'] },
  { push: [{ message: 'fix: ü', author: { name: 'Zoë', login: null }, paths: ['packages/api/a.ts'] }] },
  { push: ['feat: other'], drop: 1 },
  { push: ['feat: aside'], branch: 'side' },
  { merge: 12, title: 'feat: quiet', labels: ['feature'], body: 'Why' },
  { merge: 13, title: 'fix: leak', how: 'merge', commits: ['one', 'two'] },
  { merge: 14, title: 'docs', how: 'rebase', commits: ['one', 'two'], by: 'dependabot[bot]' },
  { close: 15, title: 'An idea' },
  { comment: 12 },
  { release: 'v1.0.0', name: 'One', notes: 'Notes' },
  { release: 'v2.0.0-rc.1', isPrerelease: true, target: 'side' },
  { release: 'v3.0.0', isDraft: true },
  { publish: 'v3.0.0' },
  { edit: 'v1.0.0', notes: 'Better' },
];

test('every delivery is as GitHub’s schema has it', async () => {
  const problemsOf = await githubSchemas();
  using world = await startReading(HAPPENINGS);
  const names: string[] = [];
  for (const { event, payload } of world.project.past.flat()) {
    names.push([event, payload.action].filter(Boolean).join(' '));
    expect([event, problemsOf(event, payload)]).toEqual([event, []]);
  }
  expect(new Set(names)).toEqual(
    new Set([
      'push',
      'pull_request closed',
      'release created',
      'release published',
      'release released',
      'release prereleased',
      'release edited',
    ]),
  );
});

test('a project sends what happens to the hooks that listen to it, and again on request', async () => {
  const clock = fixedClock();
  using github = startGithubApi({ clock });
  const seen: string[] = [];
  await using server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const [event, id] = ['event', 'delivery'].map((name) => request.headers.get(`x-github-${name}`));
      seen.push(`${event} ${id}`);
      return new Response();
    },
  });
  const repository = github.addRepository('acme/rocket', { rights: { mona: 'admin' } });
  const api = githubApi(github.url, github.addToken(FINE));
  const url = `${server.url}hook`;
  await api.createHook('acme/rocket', { url, secret: SECRET, events: ['push', 'release'] });
  await github.settled();
  seen.length = 0;

  const project = projectOf(repository, clock, [{ push: ['chore: start'] }]);
  expect(seen).toEqual([]);
  const merged = project.happen({ merge: 1, title: 'feat: a' });
  await project.send(merged);
  const [, push] = merged;
  expect(seen).toEqual([`push ${push?.guid}`]);
  await project.send(project.past.flat());
  await project.send(merged);
  expect(seen.slice(1)).toEqual([`push ${project.past[0]?.[0]?.guid}`, `push ${push?.guid}`]);
});

test('a path leaves out other commits', async () => {
  using world = await startReading([
    {
      push: [
        { message: 'a', paths: ['packages/api/a.ts'] },
        { message: 'b', paths: ['packages/apiary.ts'] },
      ],
    },
  ]);
  const response = await fetch(`${world.api.url}/repos/acme/rocket/commits?path=packages/api`);
  const commits = (await response.json()) as { commit: { message: string } }[];
  expect(commits.map(({ commit }) => commit.message)).toEqual(['a']);
});

test('the address of an attachment stays, and the signed one that it leads to expires', async () => {
  const clock = fixedClock();
  using github = startGithubApi({ clock });
  const png = new Uint8Array(imageFixture('photo.png'));
  const address = github.addImage(png);
  const signed = async () => {
    const response = await fetch(address, { redirect: 'manual' });
    expect(response.status).toBe(302);
    return response.headers.get('location') ?? '';
  };
  const first = await signed();
  clock.advance(300_000);
  const image = await fetch(first);
  expect(image.headers.get('content-type')).toBe('image/png');
  expect(new Uint8Array(await image.arrayBuffer())).toEqual(png);
  clock.advance(1);
  expect((await fetch(first)).status).toBe(403);
  expect((await fetch(await signed())).status).toBe(200);
  const forged = first.replace(/expires=\d+/, `expires=${clock.now().getTime() + 1000}`);
  expect((await fetch(forged)).status).toBe(403);

  const hidden = github.addImage(png, { isPrivate: true });
  expect((await fetch(hidden)).status).toBe(404);
  const authorization = `Bearer ${github.addToken(FINE)}`;
  expect((await fetch(hidden, { headers: { authorization } })).status).toBe(200);
  expect(github.requests).toEqual([]);
});

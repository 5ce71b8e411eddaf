import { expect, spyOn, test } from 'bun:test';
import { githubApi } from '../../../src/providers/github/api/index.ts';
import { redirectTo } from '../../support/github-api/faults.ts';
import { problemOf, startRocket } from '../../support/github-api/rocket.ts';
import { holdDeadAddress, startClosingServer } from '../../support/unkey/faults.ts';

test('nobody listens there, or somebody hangs up', async () => {
  using dead = await holdDeadAddress();
  const cannot = (url: string, code: string) =>
    `GitHub at ${url} cannot be reached (${code}). Check the network and GITHUB_API_URL, then try again.`;
  expect(await problemOf(githubApi(dead.url, 'ghp_x').listPlaces(), 'ghp_x')).toMatchObject({
    kind: 'provider-failed',
    message: cannot(dead.url, 'ECONNREFUSED'),
  });
  using closing = startClosingServer();
  expect(await problemOf(githubApi(closing.url, 'ghp_x').listPlaces(), 'ghp_x')).toMatchObject({
    kind: 'provider-failed',
    message: cannot(closing.url, 'ECONNRESET'),
  });
});

test('a token that no header can hold is not quoted', async () => {
  using world = startRocket();
  const token = 'ghp_line\nbreak';
  expect((await problemOf(githubApi(world.github.url, token).listPlaces(), 'break', 'ghp_line')).kind).toBe(
    'provider-failed',
  );
});

test('an answer without end', async () => {
  using world = startRocket();
  const megabyte = new TextEncoder().encode(' '.repeat(1_048_576));
  world.github.failNext(() => {
    const body = new ReadableStream({ pull: (controller) => controller.enqueue(megabyte) });
    return new Response(body, { headers: { 'content-type': 'application/json' } });
  });
  expect((await problemOf(world.api.listPlaces())).message).toContain('it sent more than 16 MiB');
});

test('the token goes to no other server, by a redirect or by a link', async () => {
  using world = startRocket();
  const { api, github, token } = world;
  const seen: string[] = [];
  using elsewhere = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      seen.push(request.url);
      return Response.json([]);
    },
  });
  const origin = `http://127.0.0.1:${elsewhere.port}`;
  const message = `${github.url} leads on to another server, ${origin}, which does not get the token. Check GITHUB_API_URL.`;
  github.failNext(redirectTo(`${origin}/user/repos`));
  expect(await problemOf(api.listPlaces(), token)).toMatchObject({ kind: 'provider-failed', message });
  github.failNext(() =>
    Response.json([], { headers: { link: `<${origin}/user/repos?page=2>; rel="next"` } }),
  );
  expect(await problemOf(api.listPlaces(), token)).toMatchObject({ kind: 'provider-failed', message });
  for (const status of [301, 307, 308]) {
    github.failNext(redirectTo(`${origin}/hooks`, status));
    const wish = { url: 'https://tidings.test', secret: 'planted-secret', events: ['push'] };
    const problem = await problemOf(api.createHook('acme/rocket', wish), token, wish.secret);
    expect(problem).toMatchObject({ kind: 'provider-failed', message });
  }
  expect(seen).toEqual([]);
});

test('nothing is written to the console, whatever GitHub says of its routes', async () => {
  using world = startRocket();
  const said = [spyOn(console, 'warn'), spyOn(console, 'error'), spyOn(console, 'log')];
  const headers = { deprecation: 'Sat, 21 Nov 2026 00:00:00 GMT', sunset: 'Sun, 21 Nov 2027 00:00:00 GMT' };
  world.github.failNext(() => Response.json([], { headers }));
  expect((await world.api.listPlaces()).places).toEqual([]);
  expect(said.flatMap((spy) => spy.mock.calls)).toEqual([]);
  for (const spy of said) spy.mockRestore();
});

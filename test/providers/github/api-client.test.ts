import { expect, test } from 'bun:test';
import { refusals } from '../../../src/providers/github/api/client.ts';
import { githubApi } from '../../../src/providers/github/api/index.ts';
import { webOf } from '../../../src/providers/github/app/support.ts';
import { problemWith } from '../../../src/providers/host.ts';
import { serviceAt } from '../../../src/providers/rest.ts';
import { fixedClock } from '../../support/clock.ts';
import { redirectTo } from '../../support/github-api/faults.ts';
import { problemOf as failureOf, startRocket } from '../../support/github-api/rocket.ts';
import { holdDeadAddress, startClosingServer } from '../../support/unkey/faults.ts';

test.each([
  ['https://api.github.com', 'https://github.com'],
  ['https://github.example.com/api/v3', 'https://github.example.com'],
  ['https://github.example.com:8443/api/v3', 'https://github.example.com:8443'],
  ['https://api.acme.ghe.com', 'https://acme.ghe.com'],
  ['https://api.github.com.example.com', 'https://api.github.com.example.com'],
  ['http://127.0.0.1:3000/proxy', 'http://127.0.0.1:3000'],
])('the site of the API %s is %s', (api, web) => {
  expect(webOf(api)).toBe(web);
});

test('a failure of github.com names its status page, and the cause has the request id', () => {
  const headers = new Headers({ 'x-github-request-id': 'C0FF:EE' });
  const response = { status: 503, headers, text: '', json: { message: 'No server' } };
  const web = 'https://github.com';
  const context = {
    place: null,
    service: serviceAt('https://api.github.com', 'GitHub', 'X'),
    web,
    token: 'for webhooks' as const,
    secrets: [''],
    clock: fixedClock(),
  };
  const problem = problemWith(refusals, response, context) as Error & { cause: Error };
  expect(problem.message).toBe(
    'GitHub failed with status 503. Try again later. See https://www.githubstatus.com.',
  );
  expect(problem.cause.message).toBe('GitHub answered 503: No server (request C0FF:EE)');
});

test('a server that does not listen or closes the connection cannot be reached', async () => {
  using dead = await holdDeadAddress();
  const cannot = (url: string, code: string) =>
    `GitHub at ${url} cannot be reached (${code}). Check the network and GITHUB_API_URL; for Enterprise Server it is https://HOST/api/v3.`;
  expect(await failureOf(githubApi(dead.url, 'ghp_x').listPlaces(), 'ghp_x')).toMatchObject({
    kind: 'provider-failed',
    message: cannot(dead.url, 'ECONNREFUSED'),
  });
  using closing = startClosingServer();
  expect(await failureOf(githubApi(closing.url, 'ghp_x').listPlaces(), 'ghp_x')).toMatchObject({
    kind: 'provider-failed',
    message: cannot(closing.url, 'ECONNRESET'),
  });
});

test('a token that no header can hold stays secret', async () => {
  using world = startRocket();
  const token = 'ghp_line\nbreak';
  expect((await failureOf(githubApi(world.github.url, token).listPlaces(), 'break', 'ghp_line')).kind).toBe(
    'provider-failed',
  );
});

test('a response without end is cut off at 16 MiB', async () => {
  using world = startRocket();
  const megabyte = new TextEncoder().encode(' '.repeat(1_048_576));
  world.github.failNext(() => {
    const body = new ReadableStream({ pull: (controller) => controller.enqueue(megabyte) });
    return new Response(body, { headers: { 'content-type': 'application/json' } });
  });
  expect((await failureOf(world.api.listPlaces())).message).toContain('it sent more than 16 MiB');
});

test('a link to a next page that is no address is a problem of the server', async () => {
  using world = startRocket();
  world.github.failNext(() => Response.json([], { headers: { link: '<?page=2>; rel="next"' } }));
  const { kind, message } = await failureOf(world.api.listPlaces(), world.token);
  expect(kind).toBe('provider-failed');
  expect(message).toContain('it links to no address');
});

test('no redirect and no link leads the token to another server', async () => {
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
  const message = `The server at ${github.url} redirects to ${origin}, and Tidings does not send the token there. Check GITHUB_API_URL; for Enterprise Server it is https://HOST/api/v3.`;
  github.failNext(redirectTo(`${origin}/user/repos`));
  expect(await failureOf(api.listPlaces(), token)).toMatchObject({ kind: 'provider-failed', message });
  github.failNext(() =>
    Response.json([], { headers: { link: `<${origin}/user/repos?page=2>; rel="next"` } }),
  );
  expect(await failureOf(api.listPlaces(), token)).toMatchObject({ kind: 'provider-failed', message });
  for (const status of [301, 307, 308]) {
    github.failNext(redirectTo(`${origin}/hooks`, status));
    const settings = { url: 'https://tidings.test', secret: 'planted-secret', events: ['push'] };
    const problem = await failureOf(api.createHook('acme/rocket', settings), token, settings.secret);
    expect(problem).toMatchObject({ kind: 'provider-failed', message });
  }
  expect(seen).toEqual([]);
});

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { connectIntegration, connectWithToken } from '../../src/integrations/connect.ts';
import { providerApis, providerOf, samplePayload } from '../../src/providers/index.ts';
import { logOf } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { commitOf, mergeOf, releaseOf } from '../support/gitlab-api/rocket.ts';
import { type GitlabApi, startGitlabApi } from '../support/gitlab-api/server.ts';
import type { StoredProject } from '../support/gitlab-api/state.ts';
import { mergeRequestHook, pushHook, releaseHook } from '../support/gitlab-api/views.ts';
import { appWithOrganization, PUBLIC_URL, type TestApp } from '../support/test-app.ts';

// GitLab from the token to the draft, with a stand-in that really delivers.

const PLACE = 'acme/tools/rocket';
const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;

describe('connected with a token', () => {
  let app: TestApp;
  let gitlab: GitlabApi;
  let project: StoredProject;
  let token: string;
  let server: Bun.Server<undefined>;

  async function start({ canSign = true } = {}) {
    app = await appWithOrganization({
      openProviderApi: (type, given) => providerApis({ gitlab: gitlab.url })(type, given),
      publicUrl: () => `http://127.0.0.1:${server.port}`,
    });
    gitlab = startGitlabApi({ clock: app.clock, canSign });
    server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => app.fetch(request) });
    project = gitlab.addProject(PLACE, { roles: { ann: 40 }, commits: [3, 2, 1].map(commitOf) });
    token = gitlab.addToken({ user: 'ann', scopes: ['api'] });
    const request = { type: 'gitlab', organizationId: 'org_a', token, places: [PLACE] } as const;
    return await connectWithToken(app.deps, request);
  }

  afterEach(async () => {
    await server.stop(true);
    gitlab[Symbol.dispose]();
  });

  const makeTrigger = (integrationId: string, event: string) =>
    createTrigger(app.deps, { integrationId, event, contentType: 'changelog' });

  test('a release, a push and a merge become drafts', async () => {
    const { integrationId } = await start();
    const { world } = gitlab;
    await makeTrigger(integrationId, 'release');
    // A release of the future waits for its date.
    app.clock.advance(10 * MINUTE_MS);
    const release = releaseHook(world, project, releaseOf(4), 'create');
    const [attempt] = await gitlab.emit(project, 'releases_events', 'Release Hook', release);
    expect(attempt?.status).toBe('200');
    await runAll(app);
    expect(await postsOf(app)).toMatchObject([
      {
        title: 'Rocket 1.4',
        status: 'draft',
        markdown: expect.stringContaining(`(${world.web}/-/project/${project.id}/uploads/`),
        sourceMetadata: { platform: 'gitlab', repository: PLACE, version: '1.4.0' },
      },
    ]);

    for (const event of ['pull_request', 'push']) await makeTrigger(integrationId, event);
    const request = mergeOf(3);
    await gitlab.emit(
      project,
      'push_events',
      'Push Hook',
      pushHook(world, project, commitOf(1).id, [commitOf(2)]),
    );
    await gitlab.emit(
      project,
      'merge_requests_events',
      'Merge Request Hook',
      mergeRequestHook(world, project, request),
    );
    await runAll(app);
    const posts = await postsOf(app);
    expect(
      posts.some(({ markdown }) => markdown.includes(`[!3](${world.web}/${PLACE}/-/merge_requests/3)`)),
    ).toBe(true);
  });

  test('an older GitLab sends the secret, and its deliveries arrive too', async () => {
    const connected = await start({ canSign: false });
    expect(connected.places).toMatchObject([{ hasPinged: true }]);
    expect(project.hooks).toMatchObject([{ token: expect.stringMatching(/^.{40,}$/), signingToken: null }]);
    if (project.hooks[0]) project.hooks[0].token = 'another';
    const [attempt] = await gitlab.emit(
      project,
      'releases_events',
      'Release Hook',
      releaseHook(gitlab.world, project, releaseOf(1), 'create'),
    );
    expect(attempt?.status).toBe('401');
  });
});

describe('connected by hand', () => {
  let app: TestApp;
  let connected: Awaited<ReturnType<typeof connectIntegration>>;

  beforeEach(async () => {
    app = await appWithOrganization();
    connected = await connectIntegration(app.deps, 'gitlab', 'org_a', `https://gitlab.com/${PLACE}`);
  });

  function request(headers: Record<string, string>, body: string) {
    const path = connected.webhookUrl.slice(PUBLIC_URL.length);
    return app.request(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
  }

  const bodyOf = (repository = PLACE) =>
    JSON.stringify(samplePayload('gitlab', 'release', { repository, now: app.clock.now() }));

  const plain = (more: Record<string, string> = {}) => ({
    'x-gitlab-event': 'Release Hook',
    'idempotency-key': crypto.randomUUID(),
    'x-gitlab-token': connected.secret,
    ...more,
  });

  const signed = (body: string, now = app.clock.now(), deliveryId: string = crypto.randomUUID()) =>
    providerOf('gitlab').sign({ event: 'release', deliveryId, body, secret: connected.secret, now });

  test('a delivery with the secret or with a signature is taken, and neither is logged', async () => {
    const body = bodyOf();
    expect((await request(plain(), body)).status).toBe(200);
    const headers = signed(body);
    const response = await request(headers, body);
    expect(await response.json()).toMatchObject({
      message: 'Processed release: published',
      data: { event: 'release', repository: { fullName: PLACE } },
    });
    const log = await logOf(app);
    expect(log).toHaveLength(2);
    expect(JSON.stringify(log)).not.toContain(connected.secret);
    expect(JSON.stringify(log)).not.toContain(headers['webhook-signature'] ?? '-');
    expect(log[0]?.headers).toMatchObject({ 'x-gitlab-event': 'Release Hook' });
  });

  test('the signature covers the id, so nobody can deliver again under another one', async () => {
    const body = bodyOf();
    const headers = signed(body);
    expect((await request(headers, body)).status).toBe(200);
    const replayed = { ...headers, 'webhook-id': 'another', 'idempotency-key': 'another' };
    expect((await request(replayed, body)).status).toBe(401);
  });

  test('a signature of more than a day ago, or of the future, is refused', async () => {
    const body = bodyOf();
    const at = (ms: number) => new Date(app.clock.now().getTime() + ms);
    expect((await request(signed(body, at(-DAY_MS + MINUTE_MS)), body)).status).toBe(200);
    for (const [ms, words] of [
      [-DAY_MS - MINUTE_MS, 'is more than a day old'],
      [2 * MINUTE_MS, 'is more than a minute ahead'],
    ] as const) {
      const response = await request(signed(body, at(ms)), body);
      expect(response.status).toBe(400);
      expect(await response.text()).toContain(`the signed time ${words}`);
    }
  });

  test.each([
    ['a wrong secret', () => plain({ 'x-gitlab-token': 'wrong' }), 401],
    ['a wrong signature beside the right secret', () => plain({ ...signed('{}') }), 401],
    ['no secret', () => plain({ 'x-gitlab-token': '' }), 400],
    ['no id', () => plain({ 'idempotency-key': '' }), 400],
    ['an event of another form', () => plain({ 'x-gitlab-event': 'release' }), 400],
  ])('%s is refused', async (_, headers, status) => {
    expect((await request(headers(), bodyOf())).status).toBe(status);
    expect((await logOf(app))[0]).toMatchObject({ status: 'rejected', statusCode: status });
  });

  test('a secret that was pasted with a space is explained', async () => {
    expect((await request(plain({ 'x-gitlab-token': `"${connected.secret}"` }), bodyOf())).status).toBe(401);
    expect((await logOf(app))[0]?.reason).toContain('quotation marks around it');
  });

  test('a name that no project has is refused, and nothing is stored', async () => {
    const connect = connectIntegration(app.deps, 'gitlab', 'org_a', 'rocket');
    expect(await connect.catch((error: Error) => error.message)).toBe(
      'repository must be GROUP/NAME, such as acme/rocket',
    );
  });
});

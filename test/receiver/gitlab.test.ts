import { expect, test } from 'bun:test';
import { connectIntegration, connectWithToken } from '../../src/integrations/connect.ts';
import { providerApis, samplePayload } from '../../src/providers/index.ts';
import { logOf } from '../support/deliveries.ts';
import { commitOf, releaseOf } from '../support/gitlab-api/rocket.ts';
import { startGitlabApi } from '../support/gitlab-api/server.ts';
import { releaseHook } from '../support/gitlab-api/views.ts';
import { appWithOrganization, PUBLIC_URL } from '../support/test-app.ts';

// A GitLab before 19 sends the secret in place of a signature.

const PLACE = 'acme/tools/rocket';

test('an older GitLab that is connected with a token delivers with the secret', async () => {
  const app = await appWithOrganization({
    openProviderApi: (type, given) => providerApis({ gitlab: gitlab.url })(type, given),
    publicUrl: () => `http://127.0.0.1:${server.port}`,
  });
  using gitlab = startGitlabApi({ clock: app.clock, canSign: false });
  await using server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => app.fetch(request) });
  const project = gitlab.addProject(PLACE, { roles: { ann: 40 }, commits: [3, 2, 1].map(commitOf) });
  const token = gitlab.addToken({ user: 'ann', scopes: ['api'] });
  const request = { type: 'gitlab', organizationId: 'org_a', token, places: [PLACE] } as const;
  expect((await connectWithToken(app.deps, request)).places).toMatchObject([{ hasPinged: true }]);
  const [hook] = project.hooks;
  expect(hook).toMatchObject({ token: expect.stringMatching(/^.{40,}$/), signingToken: null });
  if (hook !== undefined) hook.token = 'another';
  const release = releaseHook(gitlab.world, project, releaseOf(1), 'create');
  const [attempt] = await gitlab.emit(project, 'releases_events', 'Release Hook', release);
  expect(attempt?.status).toBe('401');
});

test('the secret is taken and not logged, and one that was pasted with quotation marks is explained', async () => {
  const app = await appWithOrganization();
  const { webhookUrl, secret } = await connectIntegration(app.deps, 'gitlab', 'org_a', PLACE);
  const sample = samplePayload('gitlab', 'release', { repository: PLACE, now: app.clock.now() });
  const send = async (sent: string) => {
    const headers = {
      ...{ 'content-type': 'application/json', 'x-gitlab-event': 'Release Hook' },
      ...{ 'idempotency-key': crypto.randomUUID(), 'x-gitlab-token': sent },
    };
    const init = { method: 'POST', headers, body: JSON.stringify(sample) };
    return (await app.request(webhookUrl.slice(PUBLIC_URL.length), init)).status;
  };
  expect([await send(secret), await send('wrong'), await send('')]).toEqual([200, 401, 400]);
  expect(JSON.stringify(await logOf(app))).not.toContain(secret);
  expect(await send(`"${secret}"`)).toBe(401);
  expect((await logOf(app))[0]?.reason).toContain('quotation marks around it');
});

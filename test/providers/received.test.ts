import { expect, test } from 'bun:test';
import { sign } from '@octokit/webhooks-methods';
import type { Connected } from '../../src/integrations/words.ts';
import { github } from '../../src/providers/github/provider.ts';
import { connectGithub, githubRequest, logOf } from '../support/deliveries.ts';
import { githubExamples } from '../support/github.ts';
import { appWithOrganization } from '../support/test-app.ts';

test("all of GitHub's published examples, signed by GitHub's own library, are answered with 200 and logged", async () => {
  const app = await appWithOrganization();
  const byRepository = new Map<unknown, Connected>();
  const examples = await githubExamples();
  expect(examples).toHaveLength(329);
  for (const { event, payload } of examples) {
    const repository = github.repositoryOf(payload);
    const connected =
      byRepository.get(repository?.id) ?? (await connectGithub(app, 'org_a', repository?.fullName));
    byRepository.set(repository?.id, connected);
    const body = JSON.stringify(payload);
    const headers = { 'x-hub-signature-256': await sign(connected.secret, body) };
    const response = await app.request(...githubRequest(connected, body, { event, headers }));
    expect(response.status, `${event} ${payload.action}`).toBe(200);
  }
  const log = await logOf(app);
  expect(log).toHaveLength(329);
  const counts = Object.entries(Object.groupBy(log, ({ status }) => status)).map(([status, all]) => [
    status,
    all.length,
  ]);
  expect(Object.fromEntries(counts)).toEqual({ processed: 20, ignored: 309 });
});

import { join } from 'node:path';
import { openDatabase } from '../db/sqlite/client.ts';
import { withComposer } from '../src/cli/trigger-runs.ts';
import { runTriggers } from '../src/drafting/triggers/run.ts';
import { createTrigger } from '../src/drafting/triggers/service.ts';
import type { Connected } from '../src/integrations/words.ts';
import { randomIds } from '../src/lib/text.ts';
import { samplePayload } from '../src/providers/index.ts';
import { connectGithub, githubRequest } from '../test/support/deliveries.ts';
import { changed } from '../test/support/payloads.ts';
import { createTestApp, type TestApp } from '../test/support/test-app.ts';
import { atLeast, BenchError, benchmark } from './support/run.ts';

// How fast releases that were delivered become drafts: of many repositories, so that none waits for another.

export const drafts = benchmark({
  goals: { perSecond: atLeast(200, 'a second', 'drafts of 1,200 releases of 400 repositories') },
  async measure(bench) {
    const releases = bench.isQuick ? 120 : 1_200;
    const db = openDatabase(join(bench.folder, 'tidings.db'), 'server');
    bench.defer(() => db.close());
    const app = createTestApp({ db, ids: randomIds });
    await app.addOrganization('org_a');
    const repositories = Array.from({ length: releases / 3 }, (_, index) => `acme/rocket-${index}`);
    for (const repository of repositories) {
      const connected = await connectGithub(app, 'org_a', repository);
      const { integrationId } = connected;
      await createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog' });
      for (let number = 0; number < 3; number++) await deliver(app, connected, repository, number);
    }
    const startedAt = performance.now();
    const runs = await withComposer((compose) => runTriggers(app.deps, compose));
    const seconds = (performance.now() - startedAt) / 1_000;
    return { perSecond: { value: releases / seconds, about: `${runs} runs` } };
  },
});

async function deliver(
  app: TestApp,
  connected: Connected,
  repository: string,
  number: number,
): Promise<void> {
  const now = new Date(Date.UTC(2020, 0, 1 + number));
  const sample = samplePayload('github', 'release', { repository, now }) ?? {};
  const payload = changed(sample, { 'release.tag_name': `v1.${number}.0` });
  const { status } = await app.request(...githubRequest(connected, payload, { event: 'release' }));
  if (status !== 200) throw new BenchError(`a delivery was answered with ${status}`);
}

import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { pollDue } from '../../src/intake/polling/poll.ts';
import { recoverDue } from '../../src/intake/recovery.ts';
import { connectWithToken } from '../../src/integrations/connect.ts';
import { listRecoveries } from '../../src/integrations/hook-store.ts';
import type { Delivery } from './github-api/deliver.ts';
import { type Happening, projectOf } from './github-api/project.ts';
import { READER, START } from './polling.ts';
import { startProviderApp } from './provider-app.ts';

/** The beat of the job, in milliseconds. */
const BEAT_MS = 10_000;

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

/** acme/rocket at the stand-in for GitHub, which limits requests as GitHub does, connected with a token. */
export async function startRecovery() {
  const provider = await startProviderApp();
  const { app, github } = provider;
  github.limits.perMinute = 80;
  const repository = github.addRepository('acme/rocket', { rights: { ann: 'admin' } });
  const project = projectOf(repository, app.clock, START);
  const { integrationId } = await connectWithToken(app.deps, {
    type: 'github',
    organizationId: 'org_a',
    token: github.addToken({ ...READER }),
    places: ['acme/rocket'],
  });
  await github.settled();
  for (const event of ['release', 'push', 'pull_request'] as const)
    await createTrigger(app.deps, { integrationId, event, contentType: 'changelog' });

  return {
    ...provider,
    repository,
    project,
    integrationId,
    /** Lets something happen, and delivers it to whoever answers. */
    async happen(happening: Happening): Promise<Delivery[]> {
      const deliveries = project.happen(happening);
      await project.send(deliveries);
      return deliveries;
    },
    /** Delivers an event of no consequence. */
    chat: (number: number) =>
      github.emit(repository, 'pull_request', {
        action: 'labeled',
        number,
        pull_request: { number, title: 'Idea', merged: false },
        repository: { id: repository.id, full_name: repository.name, default_branch: 'main' },
      }),
    /** The leader begins to lead. */
    start: async () => {
      await recoverDue(app.deps, { isStart: true });
      await github.settled();
      await pollDue(app.deps);
    },
    /** Deliveries that get lost on their way: nobody answers. */
    async lose(deliveries: readonly Delivery[]): Promise<void> {
      const [hook] = repository.hooks;
      if (hook === undefined) throw new Error('there is no webhook');
      const { url } = hook.config;
      hook.config.url = 'http://127.0.0.1:1';
      await project.send(deliveries);
      hook.config.url = url;
    },
    /** Lets time pass while the job runs. */
    async recover(ms: number, beatMs = BEAT_MS): Promise<void> {
      for (let left = ms; left > 0; left -= beatMs) {
        app.clock.advance(Math.min(beatMs, left));
        await recoverDue(app.deps);
        await github.settled();
        await pollDue(app.deps);
      }
    },
    async state() {
      const [state] = await app.db.read((tx) => listRecoveries(tx, integrationId));
      return state?.recovery ?? {};
    },
  };
}

export type RecoveryWorld = Awaited<ReturnType<typeof startRecovery>>;

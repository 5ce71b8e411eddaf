import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { connectPolled } from '../../src/intake/polling/connect.ts';
import { pollDue } from '../../src/intake/polling/poll.ts';
import { revealSecret } from '../../src/integrations/store.ts';
import { githubRequest, logOf } from './deliveries.ts';
import type { Delivery } from './github-api/deliver.ts';
import { type Happening, projectOf } from './github-api/project.ts';
import type { StoredRepository, StoredToken } from './github-api/state.ts';
import { startProviderApp } from './provider-app.ts';
import { PUBLIC_URL } from './test-app.ts';

export const READER: StoredToken = {
  user: 'ann',
  permissions: { contents: 'read', pull_requests: 'read', repository_hooks: 'write' },
};

export const START: Happening[] = [{ at: '2026-11-01T08:00:00Z', push: ['chore: start'] }];

/** acme/rocket at the stand-in for GitHub, polled for `org_a`: without a token, or with one. */
export async function startPolling({
  past = START,
  token = null,
  about = {},
  events = ['release', 'push', 'pull_request'],
}: {
  past?: readonly Happening[];
  token?: StoredToken | null;
  about?: Partial<Pick<StoredRepository, 'isPrivate' | 'rights' | 'defaultBranch'>>;
  events?: readonly ('release' | 'push' | 'pull_request')[];
} = {}) {
  const provider = await startProviderApp();
  const { app, github } = provider;
  const repository = github.addRepository('acme/rocket', {
    isPrivate: false,
    rights: { ann: 'admin' },
    ...about,
  });
  const project = projectOf(repository, app.clock, past);
  const value = token === null ? undefined : github.addToken(token);
  const connected = await connectPolled(app.deps, {
    type: 'github',
    organizationId: 'org_a',
    repositories: ['acme/rocket'],
    token: value,
  });
  const { integrationId, repositoryId } = connected;
  for (const event of events)
    await createTrigger(app.deps, { integrationId, event, contentType: 'changelog' });
  return {
    ...{ provider, app, github, repository, project, integrationId, repositoryId, token: value },
    /** Moves the clock, and polls what is due. */
    async poll(ms = 60_000): Promise<void> {
      app.clock.advance(ms);
      await pollDue(app.deps);
    },
    /** Sends signed deliveries to the webhook URL, as if a webhook existed. */
    async deliver(deliveries: readonly Delivery[]): Promise<void> {
      const secret = await revealSecret(app.deps, integrationId);
      const webhookUrl = `${PUBLIC_URL}/api/webhooks/github/org_a/${integrationId}/${repositoryId}`;
      for (const { event, payload, guid } of deliveries) {
        const connected = { integrationId, repositoryId, webhookUrl, secret };
        const [path, init] = githubRequest(connected, payload, { event, delivery: guid });
        const response = await app.fetch(new Request(`http://localhost${path}`, init));
        if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
      }
    },
    /** Of the log, oldest first: how each arrived, its status and its title. */
    async log(): Promise<string[]> {
      const entries = (await logOf(app)).toReversed();
      return entries.map(
        ({ isPolled, status, title }) => `${isPolled ? 'polled' : 'sent'} ${status}: ${title}`,
      );
    },
    [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose](),
  };
}

import type { Event } from '../../../src/providers/events.ts';
import { githubReader } from '../../../src/providers/github/api/reader.ts';
import { github } from '../../../src/providers/github/provider.ts';
import type { ClientOptions } from '../../../src/providers/host.ts';
import { eventOf, type Payload, parseEvent } from '../../../src/providers/provider.ts';
import type { ReadDelivery } from '../../../src/providers/reader.ts';
import { fixedClock } from '../clock.ts';
import { type Happening, projectOf } from './project.ts';
import { type GithubApiOptions, startGithubApi } from './server.ts';
import type { StoredRepository, StoredToken } from './state.ts';

export const READS: StoredToken = {
  user: 'mona',
  permissions: { contents: 'read', pull_requests: 'read' },
};

/** GitHub with acme/rocket, public unless `about` says otherwise, and a reader of it: with a token, or null for none. */
export async function startReading(
  happenings: readonly Happening[],
  {
    token = READS,
    about = {},
    ...options
  }: GithubApiOptions &
    Partial<ClientOptions> & {
      token?: StoredToken | null;
      about?: Partial<Pick<StoredRepository, 'isPrivate' | 'rights' | 'defaultBranch'>>;
    } = {},
) {
  const clock = fixedClock('2026-11-21T03:49:17.500Z');
  const api = startGithubApi({ clock, ...options });
  const repository = api.addRepository('acme/rocket', {
    isPrivate: false,
    rights: { mona: 'read' },
    ...about,
  });
  const project = projectOf(repository, clock, happenings);
  const value = token === null ? null : api.addToken(token);
  const reader = githubReader(api.url, value, { clock, ...options });
  const rocket = {
    providerId: repository.id,
    fullName: 'acme/rocket',
    defaultBranch: 'main',
    isPrivate: false,
  };
  return {
    ...{ api, clock, project, reader, repository, rocket, token: value },
    [Symbol.dispose]: () => api[Symbol.dispose](),
  };
}

/** The event of a delivery, read or sent; null for one that is ignored. */
function eventIn({ event, payload }: Omit<ReadDelivery, 'payload'> & { payload: Payload }): Event | null {
  const result = parseEvent(github, event, payload);
  if (result.outcome !== 'processed') return null;
  const { action, data } = result.processed;
  const repository = github.repositoryOf(payload)?.fullName ?? null;
  return eventOf(github, {
    ...{ event, action, data, repository },
    deliveryId: 'same',
    receivedAt: '2000-01-01T00:00:00.000Z',
  });
}

/** The events of deliveries, without those that are ignored, and without files, which no list of commits has. */
export const eventsIn = (deliveries: readonly ReadDelivery[]): Event[] =>
  deliveries.flatMap((delivery) => {
    const event = eventIn(delivery);
    if (event?.type !== 'push') return event ?? [];
    const commits = event.data.commits.map(({ paths: _, ...commit }) => commit);
    return { ...event, data: { ...event.data, commits } };
  });

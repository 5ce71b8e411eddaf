import { gitlab as provider } from '../../../src/providers/gitlab/provider.ts';
import type { ReadDelivery } from '../../../src/providers/reader.ts';
import type { SampleContext } from '../../../src/providers/samples.ts';
import { startGitlabApi } from '../../support/gitlab-api/server.ts';
import type { StoredCommit, StoredRelease } from '../../support/gitlab-api/state.ts';
import { mergeRequestHook, pushHook, releaseHook } from '../../support/gitlab-api/views.ts';
import { changed, type Payload } from '../../support/payloads.ts';
import type { ProviderKit, Shipped } from '../../support/provider-kit.ts';

const NO_COMMIT = '0'.repeat(40);

/** As the button "Test" sends it: the newest commits, and the oldest of them as the one before. */
export function testPush(context: SampleContext): { after: unknown; commits: Payload[] } & Payload {
  const push: Payload = provider.samples.push?.(context) ?? {};
  const commits = push.commits as Payload[];
  return { ...push, after: push.after, before: commits[0]?.id, commits: commits.toReversed() };
}

export const kit: ProviderKit = {
  repository: 'acme/tools/rocket',
  about: (payload, { id, fullName }) =>
    changed(payload, { 'project.id': id, 'project.path_with_namespace': fullName }),
  ping: (context) => ({ event: 'push', payload: testPush(context) }),
  formSignatureCovers: null,
  signsTime: true,
  // It repeats the signed id.
  spareHeaders: ['idempotency-key'],

  startWorld(clock) {
    const gitlab = startGitlabApi({ clock });
    const { world } = gitlab;
    const project = gitlab.addProject('acme/tools/rocket', { roles: { ann: 40 } });
    const [ann, ben] = [
      { id: 1, username: 'ann' },
      { id: 2, username: 'ben' },
    ];
    let lastSha = 0;
    const nextSha = () => (++lastSha).toString(16).padStart(40, 'c');
    const now = () => clock.now().toISOString();

    function push(messages: readonly string[]) {
      const before = project.commits[0]?.id ?? NO_COMMIT;
      const commits = messages.map(
        (message): StoredCommit => ({
          ...{ id: nextSha(), message, author: 'Ann', committedAt: now() },
          files: ['README.md'],
        }),
      );
      project.commits.unshift(...commits.toReversed());
      return { flag: 'push_events', event: 'push', payload: pushHook(world, project, before, commits) };
    }

    function merge({ merge: iid, title, body = '', labels = [] }: Extract<Shipped, { merge: number }>) {
      const message = `Merge branch 'change-${iid}' into 'main'\n\n${title}\n\nSee merge request ${project.path}!${iid}`;
      const pushed = push([message]);
      const at = now();
      const request = {
        ...{ iid, title, description: body, author: ben, mergedBy: ann, assignees: [ben], reviewers: [] },
        ...{ labels: [...labels], sourceBranch: `change-${iid}`, targetBranch: 'main', mergedAt: at },
        ...{ updatedAt: at, mergeCommitSha: project.commits[0]?.id ?? null, sha: nextSha() },
      };
      project.mergeRequests.push(request);
      const payload = mergeRequestHook(world, project, request);
      return [{ flag: 'merge_requests_events', event: 'merge_request', payload }, pushed];
    }

    function release({ release: tag, name = tag, notes = '' }: Extract<Shipped, { release: string }>) {
      const at = now();
      const id = project.releases.length + 1;
      const stored: StoredRelease = {
        ...{ id, tag, name, description: notes, createdAt: '2026-01-01T00:00:00.000Z', releasedAt: at },
        isUpcoming: false,
      };
      project.releases.push(stored);
      project.tags[tag] = project.commits[0]?.id ?? '';
      const payload = releaseHook(world, project, stored, 'create');
      return { flag: 'releases_events', event: 'release', payload };
    }

    const HEADERS: Record<string, string> = {
      push: 'Push Hook',
      merge_request: 'Merge Request Hook',
      release: 'Release Hook',
    };

    async function happen(shipped: Shipped) {
      const deliveries =
        'push' in shipped ? [push(shipped.push)] : 'merge' in shipped ? merge(shipped) : [release(shipped)];
      const statuses: number[] = [];
      for (const { flag, event, payload } of deliveries) {
        const attempts = await gitlab.emit(project, flag, HEADERS[event] ?? '', payload);
        statuses.push(...attempts.map(({ status }) => Number(status)));
      }
      return { statuses, deliveries: deliveries as unknown as ReadDelivery[] };
    }

    push(['chore: start']);
    return {
      url: gitlab.url,
      place: 'acme/tools/rocket',
      token: gitlab.addToken({ user: 'ann', scopes: ['api'] }),
      hooks: () =>
        project.hooks.map(({ url, alertStatus }) => ({ url, isActive: alertStatus === 'executable' })),
      switchOffHooks() {
        for (const hook of project.hooks) hook.alertStatus = 'disabled';
      },
      deleteHooks: () => void project.hooks.splice(0),
      keepSecrets() {
        const kept = project.hooks.map((hook) => ({ hook, token: hook.signingToken }));
        return () => {
          for (const { hook, token } of kept) hook.signingToken = token;
        };
      },
      ship: async (number) =>
        (await happen({ release: `v1.${number}.0`, notes: `- Change ${number}` })).statuses,
      settled: () => Promise.resolve(),
      code: {
        hasEtags: true,
        namedCommits: 20,
        makePublic() {
          project.visibility = 'public';
        },
        rename(name) {
          project.formerPaths.push(project.path);
          project.path = name;
        },
        exhaustLimit() {
          gitlab.limit(0, new Date(clock.now().getTime() + 60_000));
          return 60_000;
        },
        happen: async (shipped) => (await happen(shipped)).deliveries,
      },
      [Symbol.dispose]: () => gitlab[Symbol.dispose](),
    };
  },
};

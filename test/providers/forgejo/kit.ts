import { forgejo as provider } from '../../../src/providers/forgejo/provider.ts';
import { startForgejoApi } from '../../support/forgejo-api/server.ts';
import type { StoredCommit, StoredPull, StoredRelease } from '../../support/forgejo-api/state.ts';
import { pullHook, pushHook, releaseHook } from '../../support/forgejo-api/views.ts';
import { changed } from '../../support/payloads.ts';
import type { ProviderKit, Shipped } from '../../support/provider-kit.ts';

const NO_COMMIT = '0'.repeat(40);
const LIMIT_SECONDS = 60;

export const kit: ProviderKit = {
  repository: 'acme/rocket',
  about: (payload, { id, fullName }) =>
    changed(payload, { 'repository.id': id, 'repository.full_name': fullName }),
  ping: (context) => ({
    event: 'push',
    payload: { ...provider.samples.push?.(context), before: NO_COMMIT, after: NO_COMMIT },
  }),
  formSignatureCovers: 'payload',
  signsTime: false,

  startWorld(clock) {
    const forgejo = startForgejoApi({ clock });
    const { world } = forgejo;
    const releases: StoredRelease[] = [];
    const repository = forgejo.addRepository('acme/rocket', { rights: { ann: 'admin' }, releases });
    let lastSha = 0;
    const now = () => `${clock.now().toISOString().slice(0, 19)}Z`;

    function push(messages: readonly string[]) {
      const before = repository.commits[0]?.sha ?? NO_COMMIT;
      const commits = messages.map((message): StoredCommit => {
        const sha = (++lastSha).toString(16).padStart(40, 'c');
        const at = now();
        return {
          sha,
          message,
          login: 'ann',
          name: 'Ann',
          authoredAt: at,
          committedAt: at,
          files: ['gauge.ts'],
        };
      });
      repository.commits.unshift(...commits.toReversed());
      return { event: 'push', payload: pushHook(world, repository, before, commits.toReversed()) };
    }

    function merge({ merge: number, title, body = '', labels = [] }: Extract<Shipped, { merge: number }>) {
      const head = `change-${number}`;
      const pushed = push([`Merge pull request '${title}' (#${number}) from ${head} into main\n`]);
      const at = now();
      const pull: StoredPull = {
        ...{ number, title, body, author: 'ben', labels: [...labels], milestone: null, base: 'main', head },
        ...{ merged: { by: 'ann', at, commit: repository.commits[0]?.sha ?? '' }, updatedAt: at },
      };
      repository.pulls.push(pull);
      return [{ event: 'pull_request', payload: pullHook(world, repository, pull) }, pushed];
    }

    function release({ release: tag, name = tag, notes = '' }: Extract<Shipped, { release: string }>) {
      const stored: StoredRelease = {
        ...{ id: releases.length + 1, tag, target: 'main', title: name, notes, author: 'ann' },
        ...{ isDraft: false, isPrerelease: false, createdAt: now() },
      };
      releases.push(stored);
      repository.tags[tag] = repository.commits[0]?.sha ?? '';
      return { event: 'release', payload: releaseHook(world, repository, stored) };
    }

    async function happen(shipped: Shipped) {
      const deliveries =
        'push' in shipped ? [push(shipped.push)] : 'merge' in shipped ? merge(shipped) : [release(shipped)];
      const statuses: number[] = [];
      for (const { event, payload } of deliveries) {
        statuses.push(...(await forgejo.emit(repository, event, payload)).map((status) => status ?? 0));
      }
      return { statuses, deliveries };
    }

    push(['chore: start']);
    return {
      url: forgejo.url,
      place: 'acme/rocket',
      token: forgejo.addToken({ user: 'ann', scopes: ['write:repository', 'read:user'] }),
      hooks: () => repository.hooks.map(({ url, isActive }) => ({ url, isActive })),
      switchOffHooks() {
        for (const hook of repository.hooks) hook.isActive = false;
      },
      deleteHooks: () => void repository.hooks.splice(0),
      keepSecrets() {
        const [secret = ''] = repository.hooks.map((hook) => hook.secret);
        return () => {
          for (const hook of repository.hooks) hook.secret = secret;
        };
      },
      ship: async (number) =>
        (await happen({ release: `v1.${number}.0`, notes: `- Change ${number}` })).statuses,
      settled: () => forgejo.settled(),
      code: {
        hasEtags: false,
        namedCommits: 5,
        makePublic() {
          repository.isPrivate = false;
        },
        rename(name) {
          repository.formerPaths.push(repository.path);
          repository.path = name;
        },
        exhaustLimit() {
          // Of a proxy in front of it.
          const headers = { 'retry-after': String(LIMIT_SECONDS) };
          forgejo.failNext(() => new Response('', { status: 429, headers }), { times: 1_000 });
          return LIMIT_SECONDS * 1000;
        },
        happen: async (shipped) => (await happen(shipped)).deliveries,
      },
      [Symbol.dispose]: () => forgejo[Symbol.dispose](),
    };
  },
};

import { samplePayload } from '../../../src/providers/index.ts';
import { projectOf } from '../../support/github-api/project.ts';
import { startGithubApi } from '../../support/github-api/server.ts';
import { changed } from '../../support/payloads.ts';
import type { ProviderKit } from '../../support/provider-kit.ts';

export const kit: ProviderKit = {
  repository: 'acme/rocket',
  about: (payload, { id, fullName }) =>
    changed(payload, { 'repository.id': id, 'repository.full_name': fullName }),
  ping: (context) => ({ event: 'ping', payload: samplePayload('github', 'ping', context) ?? {} }),
  formSignatureCovers: 'form',
  signsTime: false,

  startWorld(clock) {
    const github = startGithubApi({ clock });
    const repository = github.addRepository('acme/rocket', { rights: { ann: 'admin' } });
    const permissions = { repository_hooks: 'write', contents: 'read', pull_requests: 'read' } as const;
    const { happen, send } = projectOf(repository, clock, [{ push: ['chore: start'] }]);
    return {
      url: github.url,
      place: 'acme/rocket',
      token: github.addToken({ user: 'ann', permissions }),
      hooks: () => repository.hooks.map(({ config, isActive }) => ({ url: config.url, isActive })),
      switchOffHooks() {
        for (const hook of repository.hooks) hook.isActive = false;
      },
      deleteHooks: () => void repository.hooks.splice(0),
      keepSecrets() {
        const kept = repository.hooks.map((hook) => ({ hook, secret: hook.config.secret ?? '' }));
        return () => {
          for (const { hook, secret } of kept) hook.config = { ...hook.config, secret };
        };
      },
      ship: async (number) =>
        (await send(happen({ release: `v1.${number}.0`, notes: `- Change ${number}` })))
          .filter(({ payload }) => payload.action === 'published')
          .map(({ statusCode }) => statusCode),
      settled: () => github.settled(),
      code: {
        hasEtags: true,
        makePublic() {
          repository.isPrivate = false;
        },
        rename: (name) => github.rename(repository, name),
        exhaustLimit() {
          github.limits.token = 0;
          return 3_600_000;
        },
        async happen(shipped) {
          const deliveries = happen(shipped);
          await send(deliveries);
          return deliveries;
        },
      },
      [Symbol.dispose]: () => github[Symbol.dispose](),
    };
  },
};

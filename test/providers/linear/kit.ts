import { startLinearApi } from '../../support/linear-api/server.ts';
import type { ProviderKit } from '../../support/provider-kit.ts';

export const kit: ProviderKit = {
  repository: null,
  about: null,
  ping: null,
  formSignatureCovers: null,
  signsTime: true,

  startWorld(clock) {
    const linear = startLinearApi({ clock });
    const { hooks, teams } = linear.workspace;
    const team = teams.find(({ key }) => key === 'ENG');
    if (team === undefined) throw new Error('The workspace lacks a team');
    return {
      url: linear.url,
      place: 'ENG',
      token: linear.adminKey,
      hooks: () => hooks.map(({ url, enabled }) => ({ url, isActive: enabled })),
      switchOffHooks() {
        for (const hook of hooks) hook.enabled = false;
      },
      deleteHooks: () => void hooks.splice(0),
      keepSecrets() {
        const kept = hooks.map((hook) => ({ hook, secret: hook.secret }));
        return () => {
          for (const { hook, secret } of kept) hook.secret = secret;
        };
      },
      async ship(number) {
        const sent = await linear.emit({
          type: 'Issue',
          action: 'update',
          data: {
            id: crypto.randomUUID(),
            identifier: `ENG-${number}`,
            title: `Change ${number}`,
            url: `https://linear.app/acme/issue/ENG-${number}`,
            teamId: team.id,
            team: { id: team.id, key: team.key, name: team.name },
            stateId: 'state_done',
            state: { id: 'state_done', name: 'Done', type: 'completed' },
            completedAt: clock.now().toISOString(),
            updatedAt: clock.now().toISOString(),
            labels: [],
          },
          updatedFrom: { stateId: 'state_doing' },
        });
        return sent.map(({ status }) => status);
      },
      settled: () => Promise.resolve(),
      [Symbol.dispose]: () => linear[Symbol.dispose](),
    };
  },
};

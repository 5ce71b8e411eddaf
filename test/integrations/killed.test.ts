import { expect, test } from 'bun:test';
import { connectIntegration, connectWithToken } from '../../src/integrations/connect.ts';
import { addPlace, disconnectIntegration, removePlace } from '../../src/integrations/places.ts';
import { repairHooks, rotateSecret, syncHooks } from '../../src/integrations/rotate.ts';
import { listIntegrations, revealSecret } from '../../src/integrations/store.ts';
import { setToken } from '../../src/integrations/token.ts';
import { ChangeFailed } from '../../src/integrations/words.ts';
import { type ProviderApi, ProviderProblem } from '../../src/providers/api.ts';
import { createHookWorld, type HookWorld, releaseOf } from '../support/hooks.ts';
import { rounds } from '../support/rounds.ts';

// A process is killed at one of its requests to GitHub: before GitHub has done it, or after, with nobody left to hear so.
// The server's job then brings both sides together again.

type Deps = HookWorld['deps'];
type When = 'before' | 'after';

/** The same deps, in whose process nothing happens any more from its `number`th request on. */
function killedAt(deps: Deps, number: number, when: When): { deps: Deps; dead: Promise<'dead'> } {
  const { promise, resolve } = Promise.withResolvers<'dead'>();
  let count = 0;
  const openProviderApi: Deps['openProviderApi'] = async (type, token) => {
    const api = await deps.openProviderApi(type, token);
    return new Proxy(api, {
      get(target, name: keyof ProviderApi) {
        const method = target[name];
        if (typeof method !== 'function') return method;
        return async (...given: never[]) => {
          const isLast = ++count >= number;
          if (isLast && when === 'before') return die();
          const answer = await (method as (...given: never[]) => Promise<unknown>)(...given);
          return isLast ? die() : answer;
        };
      },
    });
  };
  function die(): Promise<never> {
    resolve('dead');
    return new Promise<never>(() => undefined);
  }
  return { deps: { ...deps, openProviderApi }, dead: promise };
}

const two = ['acme/engine', 'acme/rocket'];
const asked = (token: string) => ({ type: 'github', organizationId: 'org_a', token, places: two }) as const;

/** The changes, and the state before each. */
const doings: Record<
  string,
  {
    before(world: HookWorld): Promise<string>;
    act(deps: Deps, id: string, token: string): Promise<unknown>;
  }
> = {
  connect: {
    before: async () => '',
    act: (deps, _, token) => connectWithToken(deps, asked(token)),
  },
  'rotate-secret': {
    before: (world) => world.connect(...two),
    act: (deps, id) => rotateSecret(deps, id),
  },
  add: {
    before: (world) => world.connect('acme/rocket'),
    act: (deps, id) => addPlace(deps, id, 'acme/engine'),
  },
  remove: {
    before: (world) => world.connect(...two),
    act: (deps, id) => removePlace(deps, id, 'acme/engine'),
  },
  disconnect: {
    before: (world) => world.connect(...two),
    act: (deps, id) => disconnectIntegration(deps, id),
  },
  repair: {
    before: (world) => world.connect(...two),
    act: (deps, id) => repairHooks(deps, id),
  },
  'set-token': {
    async before({ deps }) {
      return (await connectIntegration(deps, 'github', 'org_a', 'acme/rocket')).integrationId;
    },
    act: (deps, id, token) => setToken(deps, id, token),
  },
};

/** The same deps, whose provider fails from the `number`th request on, `times` times: with the work done, or not. */
function failingAt(
  deps: Deps,
  number: number,
  times: number,
  when: When,
): { deps: Deps; hasFailed(): boolean } {
  let count = 0;
  const openProviderApi: Deps['openProviderApi'] = async (type, token) => {
    const api = await deps.openProviderApi(type, token);
    return new Proxy(api, {
      get(target, name: keyof ProviderApi) {
        const method = target[name];
        if (typeof method !== 'function') return method;
        return async (...given: never[]) => {
          count++;
          const fails = count >= number && count < number + times;
          const work = () => (method as (...given: never[]) => Promise<unknown>)(...given);
          if (!fails) return work();
          if (when === 'after') await work();
          throw new ProviderProblem('provider-failed', 'GitHub answered 502. Try again later');
        };
      },
    });
  };
  return { deps: { ...deps, openProviderApi }, hasFailed: () => count >= number };
}

/** One webhook for each that is known, which GitHub delivers to with a secret that is taken. */
async function expectTogether(world: HookWorld, about: string): Promise<void> {
  const integrations = await world.db.read((tx) => listIntegrations(tx));
  expect(integrations.length, about).toBeLessThan(2);
  const id = integrations[0]?.id ?? '';
  const known = (await world.hooks(id)).map(({ placeId, remoteId }) => `${placeId} ${remoteId}`);
  const there = world.github.repositories.flatMap(({ name, hooks }) =>
    hooks.map((hook) => `${name} ${hook.id}`),
  );
  expect(known, about).toEqual(there.sort());
  for (const repository of [world.engine, world.rocket]) {
    for (const { config } of repository.hooks) {
      expect(config.secret, about).toBe(await revealSecret(world.deps, id));
    }
    const sent = await world.github.emit(repository, 'release', releaseOf(repository, 'v1'));
    for (const { statusCode } of sent) expect(statusCode, about).toBe(200);
  }
}

test.each(Object.keys(doings))(
  '%s, killed at any of its requests, is finished by the job',
  async (name) => {
    const { before, act } = doings[name] ?? expect.unreachable();
    for (const when of ['before', 'after'] as const) {
      for (let number = 1, isOver = false; !isOver; number++) {
        const about = `${name}, ${when} request ${number}`;
        await using world = await createHookWorld();
        const id = await before(world);
        const killed = killedAt(world.deps, number, when);
        const outcome = await Promise.race([killed.dead, act(killed.deps, id, world.token)]);
        isOver = outcome !== 'dead';
        // Nothing is refused meanwhile, either.
        for (const repository of [world.engine, world.rocket]) {
          const sent = await world.github.emit(repository, 'release', releaseOf(repository, 'v0'));
          for (const { statusCode } of sent) expect(statusCode, about).toBe(200);
        }
        await world.github.settled();
        world.clock.advance(121_000);
        await syncHooks(world.deps);
        await expectTogether(world, about);
        expect(await syncHooks(world.deps), about).toBe(0);
      }
    }
  },
  300_000,
);

/** How often GitHub fails in a row. */
const TIMES = [Number.POSITIVE_INFINITY, 1, 2].slice(0, rounds(2, 3));

/** The repositories of GitHub's webhooks. */
const atGithub = (world: HookWorld) =>
  world.github.repositories.flatMap(({ name, hooks }) => hooks.map(() => name)).sort();

test.each(Object.keys(doings))(
  '%s, while GitHub fails, reports the true outcome, and both sides agree a minute later',
  async (name) => {
    const { before, act } = doings[name] ?? expect.unreachable();
    for (const when of ['before', 'after'] as const) {
      for (const times of TIMES) {
        for (let number = 1, isOver = false; !isOver; number++) {
          const about = `${name}, ${times} failures from request ${number} on, ${when} the work`;
          await using world = await createHookWorld();
          const id = await before(world);
          const [places, secret] = [atGithub(world), id === '' ? '' : await revealSecret(world.deps, id)];
          const failing = failingAt(world.deps, number, times, when);
          const error: unknown = await act(failing.deps, id, world.token).then(
            () => null,
            (error) => error,
          );
          const outcome = error instanceof ChangeFailed ? error.outcome : null;
          isOver = !failing.hasFailed();
          if (isOver) expect(error, about).toBeNull();
          await world.github.settled();
          let mayBeLeft = false;
          let stays = false;
          switch (outcome?.code) {
            case 'not_connected':
            case 'not_added':
              mayBeLeft = outcome.left.length > 0;
              if (!mayBeLeft) expect(atGithub(world), about).toEqual(places);
              if (outcome.code === 'not_connected')
                expect(await world.db.read((tx) => listIntegrations(tx)), about).toEqual([]);
              break;
            case 'not_rotated':
              expect(await revealSecret(world.deps, id), about).toBe(secret);
              break;
            case 'not_removed':
              stays = true;
              if (!outcome.mayBeGone) expect(atGithub(world), about).toEqual(places);
              break;
            case 'not_disconnected':
              stays = true;
              if (outcome.deleted.length === 0 && outcome.mayBeGone === null) {
                expect(atGithub(world), about).toEqual(places);
              }
              break;
          }
          world.clock.advance(61_000);
          await syncHooks(world.deps);
          if (mayBeLeft) continue;
          await expectTogether(world, about);
          if (stays) expect(atGithub(world), about).toEqual(places);
        }
      }
    }
  },
  120_000,
);

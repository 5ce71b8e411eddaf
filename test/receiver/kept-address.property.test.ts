import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { setEnabled } from '../../src/integrations/connect.ts';
import { disconnectIntegration } from '../../src/integrations/places.ts';
import { rotateSecret } from '../../src/integrations/rotate.ts';
import { randomIds } from '../../src/lib/text.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { connectGithub, githubRequest } from '../support/deliveries.ts';
import { appWithOrganization, createTestApp } from '../support/test-app.ts';
import { openTogether } from '../support/together.ts';

// Two processes change an integration. Both receivers decide by its present state, which a plain model tells.

interface Model {
  isGone: boolean;
  enabled: boolean;
  /** The oldest first. */
  secrets: string[];
  /** When the secret before the present one ends, in milliseconds since 1970. */
  previousUntil: number;
}

const at = fc.integer({ min: 0, max: 1 });
const step = fc.oneof(
  // `age` 0 is the present secret, 1 the one before it.
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('deliver'), at, age: fc.integer({ min: 0, max: 2 }) }),
  },
  fc.record({ do: fc.constant('enable'), at, enabled: fc.boolean() }),
  fc.record({ do: fc.constant('rotate'), at, now: fc.boolean() }),
  fc.record({ do: fc.constant('wait'), ms: fc.constantFrom(1_000, DAY_MS / 2, DAY_MS + 1) }),
  fc.record({ do: fc.constant('disconnect'), at }),
) as fc.Arbitrary<
  | { do: 'deliver'; at: 0 | 1; age: number }
  | { do: 'enable'; at: 0 | 1; enabled: boolean }
  | { do: 'rotate'; at: 0 | 1; now: boolean }
  | { do: 'wait'; ms: number }
  | { do: 'disconnect'; at: 0 | 1 }
>;

function statusOf({ isGone, enabled, secrets, previousUntil }: Model, age: number, now: number): number {
  if (isGone) return 404;
  if (!enabled) return 403;
  const isAccepted = age === 0 || (age === 1 && secrets.length > 1 && now < previousUntil);
  return isAccepted ? 200 : 401;
}

test('a kept address never outlives a change by either process', async () => {
  const { databases } = openTogether();
  const first = await appWithOrganization({ db: databases[0], ids: randomIds });
  const apps = [first, createTestApp({ db: databases[1], ids: randomIds, clock: first.clock })] as const;
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), async (steps) => {
      const connected = await connectGithub(first, 'org_a', `acme/rocket-${++runs}`);
      const { integrationId } = connected;
      const model: Model = { isGone: false, enabled: true, secrets: [connected.secret], previousUntil: 0 };
      for (const each of steps) {
        const now = first.clock.now().getTime();
        if (each.do === 'wait') first.clock.advance(each.ms);
        else if (each.do === 'deliver') {
          const secret = model.secrets.at(-1 - each.age) ?? 'another';
          const [path, init] = githubRequest(connected, { zen: 'x' }, { secret });
          const { status } = await apps[each.at].request(path, init);
          expect(status).toBe(statusOf(model, each.age, now));
        } else if (!model.isGone) {
          const { deps } = apps[each.at];
          if (each.do === 'enable') {
            await setEnabled(deps, integrationId, each.enabled);
            model.enabled = each.enabled;
          } else if (each.do === 'rotate') {
            model.secrets.push((await rotateSecret(deps, integrationId, each)).secret);
            model.previousUntil = each.now ? now : now + DAY_MS;
          } else {
            await disconnectIntegration(deps, integrationId);
            model.isGone = true;
          }
        }
      }
    }),
    { numRuns: 40 },
  );
});

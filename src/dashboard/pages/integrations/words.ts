import type { ConnectedPlace } from '../../../integrations/connect.ts';
import type { IntegrationType } from '../../../integrations/model.ts';

/** Where a provider's webhooks stand, for people. */
export const placeWords: Readonly<Record<IntegrationType, { one: string; many: string }>> = {
  github: { one: 'repository', many: 'repositories' },
  linear: { one: 'team', many: 'teams' },
};

/** Such as "acme/rocket is connected, and its ping arrived." or "3 repositories are …, and their pings arrived." */
export function sayConnected(
  type: IntegrationType,
  places: readonly Pick<ConnectedPlace, 'place' | 'hasPinged'>[],
  what = 'connected',
): string {
  const [first] = places;
  const isOne = places.length === 1 && first !== undefined;
  const subject = isOne
    ? `${first.place.slice(0, 120)} ${first.place.startsWith('All ') ? 'are' : 'is'} ${what}`
    : `${places.length} ${placeWords[type].many} are ${what}`;
  if (places.some(({ hasPinged }) => hasPinged === false)) {
    const pings = isOne ? 'Its ping has not arrived' : 'Not all of their pings have arrived';
    return `${subject}. ${pings} yet: check again in a moment.`;
  }
  if (places.every(({ hasPinged }) => hasPinged === null)) return `${subject}.`;
  return `${subject}, and ${isOne ? 'its ping' : 'their pings'} arrived.`;
}

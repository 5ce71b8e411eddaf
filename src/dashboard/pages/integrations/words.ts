import type { ConnectedPlace } from '../../../integrations/connect.ts';
import { type IntegrationType, providerOf } from '../../../providers/index.ts';

/** The places of a provider that have webhooks. */
export const placeWords = (type: IntegrationType) => providerOf(type).words.place;

/** The heading of a list of places. */
export function placesLegend(type: IntegrationType): string {
  const { many } = placeWords(type);
  const capitalized = `${many.charAt(0).toUpperCase()}${many.slice(1)}`;
  return providerOf(type).hasRepositories ? `${capitalized} that the token can see` : capitalized;
}

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
    : `${places.length} ${placeWords(type).many} are ${what}`;
  if (places.some(({ hasPinged }) => hasPinged === false)) {
    const pings = isOne ? 'Its ping has not arrived' : 'Not all of their pings have arrived';
    return `${subject}. ${pings} yet: check again in a moment.`;
  }
  if (places.every(({ hasPinged }) => hasPinged === null)) return `${subject}.`;
  return `${subject}, and ${isOne ? 'its ping' : 'their pings'} arrived.`;
}

import type { ConnectedPlace, IntegrationType } from '../../../integrations/model.ts';
import { ChangeFailed } from '../../../integrations/problems.ts';
import { describeOutcome, describeProviderProblem } from '../../../integrations/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import { ProviderProblem } from '../../../providers/api.ts';
import { providerOf } from '../../../providers/index.ts';
import { exactly } from '../../view/elements.tsx';

export const exactTime = (time: string) => exactly(new Date(time));

/** The message for a form that failed. Throws the error again if it is a failure of the server. */
export function problemOf(error: unknown, type: IntegrationType): string {
  if (error instanceof ChangeFailed) {
    return `${problemOf(error.problem, type)} ${describeOutcome(error.outcome)}`;
  }
  if (error instanceof ProviderProblem) return sentence(describeProviderProblem(error, type, exactTime));
  if (error instanceof AppError && error.status < 500) return sentence(error.message);
  throw error;
}

export function sentence(text: string): string {
  return text.endsWith('.') ? text : `${text}.`;
}

/** Such as "acme/rocket is connected, and its ping arrived." or "3 repositories are …, and their pings arrived." */
export function describeConnected(
  type: IntegrationType,
  places: readonly Pick<ConnectedPlace, 'place' | 'hasPinged'>[],
  state = 'connected',
): string {
  const [first] = places;
  const isOne = places.length === 1 && first !== undefined;
  const subject = isOne
    ? `${first.place} ${first.place.startsWith('All ') ? 'are' : 'is'} ${state}`
    : `${places.length} ${providerOf(type).words.place.many} are ${state}`;
  if (places.some(({ hasPinged }) => hasPinged === false)) {
    const pings = isOne ? 'Its ping has not arrived' : 'Not all of their pings have arrived';
    return `${subject}. ${pings} yet: check again in a moment.`;
  }
  if (places.every(({ hasPinged }) => hasPinged === null)) return `${subject}.`;
  return `${subject}, and ${isOne ? 'its ping' : 'their pings'} arrived.`;
}

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

/** The names in a notice, in characters; longer ones are counted instead. */
const MAX_NAMES_LENGTH = 150;

/** The names of places, or their number where the names are long. */
export function describeNames(type: IntegrationType, places: readonly string[]): string {
  const names = places.join(', ');
  const isLong = places.length > 1 && names.length > MAX_NAMES_LENGTH;
  return isLong ? `${places.length} ${providerOf(type).words.place.many}` : names;
}

/** Such as "Connected: acme/rocket, acme/lander." A ping proves that the provider can reach Tidings. */
export function describeConnected(
  type: IntegrationType,
  places: readonly Pick<ConnectedPlace, 'place' | 'hasPinged'>[],
  done = 'Connected',
): string {
  const { name: provider } = providerOf(type);
  const names = places.map(({ place }) => place);
  const connected = `${done}: ${describeNames(type, names)}.`;
  if (places.some(({ hasPinged }) => hasPinged === false)) {
    return `${connected} The ping from ${provider} has not arrived yet. Check again in a moment.`;
  }
  return places.some(({ hasPinged }) => hasPinged)
    ? `${connected} ${provider} can reach Tidings.`
    : connected;
}

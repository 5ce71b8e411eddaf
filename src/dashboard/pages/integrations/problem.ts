import { AppError } from '../../../lib/app-error.ts';
import { ProviderProblem } from '../../../providers/api.ts';
import { exactly } from '../../view/when.tsx';

/** What went wrong, for the form that asked for it. Throws the error again when it is a failure of our own. */
export function problemOf(error: unknown): string {
  if (error instanceof ProviderProblem || (error instanceof AppError && error.status < 500)) {
    return forPeople(error.message);
  }
  throw error;
}

/** A command that is to help, as the command line tells of it (see `lib/how-to-run.ts`). */
const COMMAND = /[:;] (?:(?:bun|npx --yes bun@\S+) run )?(?:tidings |"integration ).*$/;

/**
 * What a service says, as people read it here. It tells people on the command line which command helps, where there is a
 * button instead, and gives times as programs do.
 */
export function forPeople(message: string): string {
  const sentences = message.split(/(?<=\.)\s+/).flatMap((sentence) => {
    if (sentence.includes('--force')) return [];
    const withoutCommand = sentence.replace(COMMAND, '');
    const isAboutCommand = withoutCommand !== sentence && /^(To|With) /.test(sentence);
    return isAboutCommand ? [] : [withoutCommand];
  });
  const text = sentences.join(' ').replace(/([^.!?])$/, '$1.');
  return text.replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, (at) => exactly(new Date(at)));
}

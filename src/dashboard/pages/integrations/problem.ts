import { ProviderProblem } from '../../../hooks/model.ts';
import { AppError } from '../../../lib/app-error.ts';

/** What went wrong, for the form that asked for it. Throws the error again when it is a failure of our own. */
export function problemOf(error: unknown): string {
  if (error instanceof ProviderProblem || (error instanceof AppError && error.status < 500)) {
    return withoutCommands(error.message);
  }
  throw error;
}

/** Services tell people on the command line which command helps. Here there is a button instead. */
export function withoutCommands(message: string): string {
  const sentences = message.split(/(?<=\.)\s+/).flatMap((sentence) => {
    if (sentence.includes('--force') || /^(To|With) .*: tidings /.test(sentence)) return [];
    return [sentence.replace(/[:;] (tidings |"integration ).*$/, '')];
  });
  return sentences.join(' ').replace(/([^.!?])$/, '$1.');
}

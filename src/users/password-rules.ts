import { AppError } from '../lib/app-error.ts';
import { requireValid } from '../lib/validation.ts';
import { Password } from './model.ts';

/** The library's score for a password that withstands 100 million guesses. */
const MIN_SCORE = 3;

/** Rate only this many characters: the library blocks the event loop, and takes longer the more there are. */
const MAX_RATED = 40;

const COMMON = 'It is a common password or close to one. ';

/** Reasons by the library's warning. */
const REASONS: Readonly<Record<string, string>> = {
  topTen: COMMON,
  topHundred: COMMON,
  common: COMMON,
  similarToCommon: COMMON,
  userInputs: 'It contains your address, your organization or "tidings". ',
  simpleRepeat: 'It repeats the same characters. ',
  extendedRepeat: 'It repeats the same characters. ',
  sequences: 'It is a sequence. ',
  straightRow: 'It is a row of keys. ',
  keyPattern: 'It is a row of keys. ',
  dates: 'It is a date. ',
};

/**
 * The password of the person with this address. Throws `AppError` 400 when it is too short or too long, is a common
 * password or close to one, or is made of the address, the organizations' names or a pattern.
 */
export async function requireGoodPassword(
  password: string,
  { email, organizations }: { email: string; organizations: readonly string[] },
): Promise<void> {
  requireValid(Password, { password });
  const [local = '', domain = ''] = email.split('@');
  const own = [email, local, domain, ...domain.split('.'), ...organizations, 'tidings'];
  const { score, feedback } = (await loadRater()).check(password, own.filter(Boolean));
  if (score >= MIN_SCORE) return;
  const reason = REASONS[feedback.warning ?? ''] ?? '';
  throw new AppError(400, `password is too easy to guess. ${reason}Use a few unrelated words.`);
}

let rater: ReturnType<typeof createRater> | undefined;

function loadRater() {
  rater ??= createRater();
  return rater;
}

/** Loaded for the first password that somebody chooses: the list of common passwords takes 30 MB of memory. */
async function createRater() {
  const [{ ZxcvbnFactory }, { dictionary, adjacencyGraphs }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ]);
  return new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs, maxLength: MAX_RATED });
}

import { settings } from '../../config.ts';

/** Shorter names, without their underscores, are like too many others. */
const MIN_LENGTH = 7;

/**
 * Variables that mean nothing to us, and the setting that each was probably meant to be: another case (`PUBLIC_URl`), a
 * slip of the pen (`UNKEY_ROTKEY`), or our name before it (`TIDINGS_PORT`).
 */
export function misspeltVariables(variables: readonly string[]): { name: string; meant: string }[] {
  const names = Object.keys(settings);
  return variables.flatMap((name) => {
    if (names.includes(name)) return [];
    const upper = name.toUpperCase().replace(/^TIDINGS_/, '');
    const plain = upper.replaceAll(/[^A-Z0-9]/g, '');
    const meant = names.find((each) => {
      const known = each.replaceAll('_', '');
      return plain === known || (known.length >= MIN_LENGTH && isOneSlip(plain, known));
    });
    return meant === undefined ? [] : [{ name, meant }];
  });
}

/** Whether one letter more, less, or other, or two that are swapped, makes the one word the other. */
function isOneSlip(word: string, other: string): boolean {
  if (Math.abs(word.length - other.length) > 1) return false;
  let at = 0;
  while (at < word.length && word[at] === other[at]) at++;
  const [rest, otherRest] = [word.slice(at), other.slice(at)];
  const isSwapped =
    rest[0] === otherRest[1] && rest[1] === otherRest[0] && rest.slice(2) === otherRest.slice(2);
  return (
    isSwapped ||
    rest.slice(1) === otherRest.slice(1) ||
    rest.slice(1) === otherRest ||
    rest === otherRest.slice(1)
  );
}

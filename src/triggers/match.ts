import type { TriggerFilters } from './model.ts';

/** Whether one of the values is meant; without values everything is. Case does not matter. */
export function isOneOf(
  values: readonly string[] | undefined,
  ...names: (string | null | undefined)[]
): boolean {
  if (values === undefined) return true;
  const wanted = values.map((value) => value.toLowerCase());
  return names.some((name) => name && wanted.includes(name.toLowerCase()));
}

/** Whether the text fits one of the patterns, in which `*` stands for anything; without patterns it does. */
export function fitsOne(patterns: readonly string[] | undefined, text: string): boolean {
  return patterns === undefined || patterns.some((pattern) => fits(pattern, text));
}

/** A release, by the filters that speak of releases. */
export function isReleaseMeant(
  { prereleases, tag: patterns }: TriggerFilters,
  { tag, isPrerelease }: { tag: string; isPrerelease: boolean },
): boolean {
  return (prereleases !== false || !isPrerelease) && fitsOne(patterns, tag);
}

/** Takes time in proportion to the text: each part is looked for once, from where the last one ended. */
function fits(pattern: string, text: string): boolean {
  const parts = pattern.split('*');
  const first = parts[0] ?? '';
  if (parts.length === 1) return text === first;
  const last = parts.at(-1) ?? '';
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last))
    return false;
  const middle = text.slice(0, text.length - last.length);
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = middle.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return true;
}

import { type PropertyAccessToken, TypeGuards } from 'liquidjs';
import { cutLine } from '../../lib/text.ts';
import { isRecord } from '../../lib/validation.ts';
import { didYouMean, nearest } from './nearest.ts';
import { quote } from './problem.ts';

/** Stands for a value that the source of a template does not tell. */
export const ANYTHING = Symbol('anything');
const MISSING = Symbol('missing');

/** What `forloop` has inside a loop. */
export const FORLOOP = {
  index: 1,
  index0: 0,
  rindex: 1,
  rindex0: 0,
  first: true,
  last: true,
  length: 1,
  name: '',
};

type Key = string | number | typeof ANYTHING;

/** `release.name` as its keys; a key that is itself read from a variable is ANYTHING. */
function keysOf(token: PropertyAccessToken): Key[] {
  return token.props.map((prop) => {
    const isGiven =
      TypeGuards.isWordToken(prop) || TypeGuards.isQuotedToken(prop) || TypeGuards.isNumberToken(prop);
    return isGiven ? prop.content : ANYTHING;
  });
}

/** The value that a path has among `names`: ANYTHING when that cannot be told, or is not there. */
export function sampleOf(token: PropertyAccessToken, names: Record<string, unknown>): unknown {
  if (token.variable !== undefined) return ANYTHING;
  const [root = ANYTHING, ...keys] = keysOf(token);
  const value = keys.reduce<unknown>(step, own(names, root));
  return value === MISSING ? ANYTHING : value;
}

/** What to tell the author of a path that `names` does not have, or null when it has it. */
export function findMissing(token: PropertyAccessToken, names: Record<string, unknown>): string | null {
  if (token.variable !== undefined) return null;
  const advice = advise(keysOf(token), names);
  return advice && `there is no variable ${quote(token.getText().replaceAll(/\s+/g, ''))}.${advice}`;
}

/** The path that is nearest, or what there is where it ends; null when the path itself is there. */
function advise(keys: Key[], names: Record<string, unknown>): string | null {
  const meant: Key[] = [];
  let value: unknown = names;
  for (const key of keys) {
    const read = meant.length === 0 ? own : step;
    const isThere = read(value, key) !== MISSING;
    const near = isThere || typeof key !== 'string' ? key : nearest(key, partsOf(value));
    if (near === null || read(value, near) === MISSING) {
      if (Array.isArray(value)) return ` ${write(meant)} is a list: go over it with for.`;
      const paths = partsOf(value).map((part) => write([...meant, part]));
      return ` There is ${cutLine(paths.join(', '), 200)}.`;
    }
    meant.push(near);
    value = read(value, near);
  }
  return meant.every((key, index) => key === keys[index]) ? null : didYouMean(write(meant));
}

/** As LiquidJS reads a property, from a sample. */
function step(value: unknown, key: Key): unknown {
  // A null has every part: an author that is not known has no name.
  if (value === MISSING || value === ANYTHING || value === null) return value ?? ANYTHING;
  const found = own(value, key);
  if (found !== MISSING) return found;
  const isPlace = typeof key === 'number' || key === 'first' || key === 'last';
  if (Array.isArray(value) && isPlace) return value.length === 0 ? ANYTHING : value[0];
  if (typeof value === 'string' && typeof key === 'number') return '';
  return key === 'size' && ['object', 'string'].includes(typeof value) ? 0 : MISSING;
}

function own(value: unknown, key: Key): unknown {
  if (key === ANYTHING) return ANYTHING;
  const found = Object.hasOwn(Object(value), key) ? (value as Record<string, unknown>)[key] : undefined;
  return found === undefined ? MISSING : found;
}

function partsOf(value: unknown): string[] {
  if (Array.isArray(value)) return ['size', 'first', 'last'];
  return isRecord(value) ? Object.keys(value) : ['size'];
}

function write([root, ...keys]: Key[]): string {
  return keys.reduce<string>(
    (path, key) => path + (typeof key === 'string' && /^[\w-]+$/.test(key) ? `.${key}` : `[${String(key)}]`),
    String(root),
  );
}

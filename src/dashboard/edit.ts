import { AppError } from '../lib/app-error.ts';
import { EDIT_CONFLICT } from './fields.ts';
import type { Visit } from './page.ts';

// Each form carries a fingerprint of every field as it was opened. Only changed fields are written, and nothing unseen.

export type Fields = Readonly<Record<string, unknown>>;

export interface FieldConflict {
  field: string;
  stored: unknown;
  typed: unknown;
}

/** How a form carries its version. `base`: the version of its text where a conflict showed a newer one. */
export interface EditState {
  seen: string;
  base: string;
  conflicts: readonly FieldConflict[];
}

/** The version of a form that shows these values, such as `name:x7Gk-3 plan:Zu81bQ`. */
export function seenOf(values: Fields): string {
  return written(Object.entries(values).map(([field, value]) => [field, fingerprint(value)]));
}

const written = (entries: Iterable<readonly [field: string, print: string]>) =>
  Array.from(entries, ([field, print]) => `${field}:${print}`).join(' ');

/** "Undo" has no fields, and the version in its address. */
const sentIn = ({ form, url }: Pick<Visit, 'form' | 'url'>) =>
  form.get('seen') ?? url.searchParams.get('seen') ?? '';

const read = (seen: string) =>
  new Map(seen.split(' ').map((each) => each.split(':') as [field: string, print: string]));

/** The same for a text before and after a browser sends it. */
function fingerprint(value: unknown): string {
  const json = JSON.stringify(value ?? null, (_, each) =>
    typeof each === 'string'
      ? each.toWellFormed().replaceAll(/\r\n?/g, '\n').replaceAll('\0', '\uFFFD')
      : each,
  );
  return new Bun.CryptoHasher('sha256').update(json).digest('base64url').slice(0, 12);
}

export type Merge = ReturnType<typeof mergeOf>;

/** Merges a posted form into what is stored now. A form without a version replaces it. */
export function mergeOf(visit: Pick<Visit, 'form' | 'url'>) {
  const base = sentIn(visit);
  const prints = base === '' ? null : read(base);
  /** The person left the value as the form was opened with it. */
  const isUntouched = (field: string, typed: unknown, stored: unknown) =>
    fingerprint(typed) === (prints === null ? fingerprint(stored) : prints.get(field));
  const conflictOf = (conflicts: FieldConflict[]) => {
    const seen = new Map(prints);
    for (const { field, stored } of conflicts) seen.set(field, fingerprint(stored));
    const details: EditState = { seen: written(seen), base, conflicts };
    const message = 'Somebody else changed the same fields in the meantime';
    return new AppError(409, message, { code: EDIT_CONFLICT, details: { ...details } });
  };
  const isSeen = (field: string, value: unknown) =>
    prints === null || prints.get(field) === fingerprint(value);
  return {
    isUntouched,
    isSeen,
    /** For a button, in the transaction that acts. Throws `AppError` 409 when the page showed other values. */
    requireSeen(stored: Fields): void {
      const conflicts = Object.entries(stored)
        .filter(([field, value]) => prints?.has(field) && !isSeen(field, value))
        .map(([field, value]) => ({ field, stored: value, typed: undefined }));
      if (conflicts.length > 0) throw conflictOf(conflicts);
    },
    /** The fields to write, in their transaction. `isWhole`: of all that the form shows. Throws `AppError` 409. */
    changes<Values extends Fields>(
      typed: Partial<Values>,
      stored: Values,
      { isWhole = false }: { isWhole?: boolean } = {},
    ): Partial<Values> {
      const changed = Object.entries(typed).filter(
        ([field, value]) =>
          fingerprint(value) !== fingerprint(stored[field]) &&
          (isWhole || !isUntouched(field, value, stored[field])),
      );
      const conflicts = changed
        .filter(([field]) => !isSeen(field, stored[field]))
        .map(([field, value]) => ({ field, stored: stored[field], typed: value }));
      if (conflicts.length === 0) return Object.fromEntries(changed) as Partial<Values>;
      throw conflictOf(conflicts);
    },
    /** The version of the form after it was saved: its untouched fields still show what they did before. */
    seenAfter(typed: Fields, stored: Fields): string {
      const isSaved = (field: string) => !isUntouched(field, typed[field], stored[field]);
      return written(
        Object.keys(stored).map((field) => [
          field,
          prints === null || (field in typed && isSaved(field))
            ? fingerprint(stored[field])
            : (prints.get(field) ?? fingerprint(stored[field])),
        ]),
      );
    },
  };
}

export function openedWith(stored: Fields): EditState {
  const seen = seenOf(stored);
  return { seen, base: seen, conflicts: [] };
}

/** The version that a form carries: of what is stored or, when it was refused, the one that it was sent with. */
export function editState(
  visit: Pick<Visit, 'form' | 'url'>,
  stored: Fields,
  error?: AppError | null,
): EditState {
  if (error?.code === EDIT_CONFLICT) return error.details as unknown as EditState;
  const prints = read(sentIn(visit));
  const fields = Object.keys(stored);
  // Another form of the page may have been sent.
  if (!fields.every((field) => prints.has(field))) return openedWith(stored);
  const seen = written(fields.map((field) => [field, prints.get(field) ?? '']));
  return { seen, base: seen, conflicts: [] };
}

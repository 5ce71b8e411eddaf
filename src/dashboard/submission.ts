import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import { requireStillAllowed, toSettle } from '../../db/checked.ts';
import { NONE } from '../../db/engine.ts';
import {
  hasMoreThan,
  readUpload,
  UNVERIFIED_UPLOAD_MS,
  UploadBudget,
  UploadError,
  type UploadProblem,
} from '../http/request.ts';
import { AppError } from '../lib/app-error.ts';
import { letOthersIn } from '../lib/time.ts';
import { requireValid } from '../lib/validation.ts';
import type { Deps } from '../people/deps.ts';
import { claimFormMark, deleteFormMark } from '../people/guard.ts';
import { MAX_IMAGE_BYTES } from '../posts/media/store.ts';
import { type Answer, type MemberVisit, type Page, post, type Visit, type Visitors } from './page.ts';
import type { Problem } from './view/form.tsx';

/** With a session: a post of 200,000 characters several times, at 256 kbit/s. Without: an email address and a password. */
const LIMITS = {
  user: { maxBytes: 2 * 1024 * 1024, timeoutMs: 70_000 },
  anyone: { maxBytes: 16 * 1024, timeoutMs: UNVERIFIED_UPLOAD_MS },
};

/** The code of an error: two people changed the same fields. `edit.ts` makes it. */
export const EDIT_CONFLICT = 'edit_conflict';

/** A form has at most a field for each row of a long list. */
const MAX_FIELDS = 1_000;

const uploadFailures: Readonly<Record<UploadProblem, [status: number, message: string]>> = {
  too_large: [413, 'The form is too large. Nothing was saved. Shorten its text, then send it again.'],
  aborted: [400, 'The form did not arrive completely. Nothing was saved. Send it again.'],
  too_slow: [408, 'The form took too long to arrive. Nothing was saved. Send it again.'],
  no_room: [503, 'Tidings is busy. Nothing was saved. Wait a few seconds, then send the form again.'],
};

/**
 * Throws `AppError` 403 for a form of another site. Current browsers send `Sec-Fetch-Site`, older ones `Origin`. A
 * client that sends neither is no browser, so it does not attach somebody's cookie by itself.
 */
export function requireSameOrigin({ headers }: Request): void {
  const site = headers.get('sec-fetch-site');
  const origin = headers.get('origin');
  const isSame =
    site === null
      ? origin === null || (URL.canParse(origin) && new URL(origin).host === headers.get('host'))
      : site === 'same-origin' || site === 'none';
  if (!isSame)
    throw new AppError(
      403,
      'Another site sent this form, so Tidings ignored it. Open the page and send the form from there.',
    );
}

/** Reads the body of a form. Throws `AppError` 413 and 415, or a failure of the upload. */
export async function readBody(from: 'user' | 'anyone', { request, deps }: Visit): Promise<URLSearchParams> {
  const type = request.headers.get('content-type') ?? '';
  if (!type.startsWith('application/x-www-form-urlencoded'))
    throw new AppError(415, 'Send a form (application/x-www-form-urlencoded).');
  const limits = { ...LIMITS[from], ...(from === 'anyone' && { budget: deps.uploadBudget }) };
  try {
    const body = await readUpload(request, limits);
    if (!hasMoreThan(MAX_FIELDS, '&', body)) return new URLSearchParams(new TextDecoder().decode(body));
    const message = `The form has more than ${MAX_FIELDS.toLocaleString('en')} fields. Nothing was saved.`;
    throw new AppError(413, message, { isRefusal: true });
  } catch (error) {
    if (!(error instanceof UploadError)) throw error;
    const [status, message] = uploadFailures[error.problem];
    throw new AppError(status, message, { isRefusal: true });
  }
}

/** True for a form that is as small as those of people without a session, so that a page may carry it. */
export function mayBeKept({ headers }: Request): boolean {
  return Number(headers.get('content-length') ?? Number.NaN) <= LIMITS.anyone.maxBytes;
}

/** Options of a field in a form's schema, beside TypeBox's own. A field that the page shows needs a `label`. */
export interface FieldOptions {
  label?: string;
  hint?: string;
  inputType?: 'email' | 'password' | 'date';
  autoComplete?: string;
  /** Begins the sentence of a problem. Default: "The" and the label. */
  subject?: string;
  /** The sentence for every problem of the field. */
  problem?: string;
  /** The name of the field in the service that validates it, where that differs. */
  serviceField?: string;
}

export const emailField = Type.String({
  label: 'Email',
  subject: 'The address',
  inputType: 'email',
  autoComplete: 'username',
} satisfies FieldOptions);

export const newPasswordField = (label: string) =>
  Type.String({
    label,
    subject: 'The password',
    inputType: 'password',
    autoComplete: 'new-password',
    hint: 'At least 10 characters. A few unrelated words work well.',
  } satisfies FieldOptions);

/** The labels of a form's fields, for the words of a conflict. */
export function labelsOf({ properties }: TObject): Record<string, string> {
  const fields = Object.entries(properties as Record<string, FieldOptions>);
  return Object.fromEntries(fields.map(([name, { label = name }]) => [name, label]));
}

/**
 * The posted values, typed: line ends are `\n`, a checkbox is a boolean, a missing text is empty unless it is optional,
 * and a choice that the schema does not offer counts as absent. Throws `AppError` 400 with `fields`.
 */
export function readFields<Schema extends TObject>(schema: Schema, form: URLSearchParams): Static<Schema> {
  const read = (name: string, field: TSchema): unknown => {
    if (field.type === 'array') return form.getAll(name);
    if (field.type === 'boolean') return form.has(name);
    const text = form.get(name)?.replaceAll('\r\n', '\n');
    const choices: TSchema[] | undefined = field.anyOf;
    if (choices !== undefined) return choices.some((choice) => choice.const === text) ? text : field.default;
    return text ?? (schema.required?.includes(name) ? '' : undefined);
  };
  const values = Object.entries(schema.properties).map(([name, field]) => [name, read(name, field)]);
  return requireValid(schema, Object.fromEntries(values));
}

export interface FieldState extends Pick<FieldOptions, 'hint' | 'autoComplete'> {
  label: string;
  name: string;
  id?: string;
  type?: NonNullable<FieldOptions['inputType']>;
  value?: string;
  error: string | null;
}

/**
 * How to show a form: with these values, and the error that it was refused with. `problem` is about the form as a
 * whole, or has the invalid fields. A password is never shown again. `ids`: the ids of fields whose name another form of
 * the page has too.
 */
export function formState<Schema extends TObject>(
  schema: Schema,
  values: URLSearchParams | Readonly<Record<string, string>>,
  error?: AppError | null,
  ids: Readonly<Record<string, string>> = {},
) {
  const typed = new URLSearchParams(values);
  // The path of a value in a list leads into its field: `tag.0`.
  const problems: Record<string, string> = Object.fromEntries(
    Object.entries(error?.fields ?? {}).map(([path, text]) => [path.split('.')[0], text]),
  );
  const stateOf = (name: string, field: FieldOptions): FieldState => {
    const { label = '', hint, inputType, autoComplete, subject, problem, serviceField = name } = field;
    const wrong = problems[serviceField] ?? problems[name];
    const sentence = problem ?? asSentence(`${subject ?? `The ${label.toLowerCase()}`} ${wrong}`.trim());
    const value = inputType === 'password' ? null : typed.get(name);
    return {
      label,
      name,
      error: wrong === undefined ? null : sentence,
      ...(ids[name] !== undefined && { id: ids[name] }),
      ...(hint !== undefined && { hint }),
      ...(inputType !== undefined && { type: inputType }),
      ...(autoComplete !== undefined && { autoComplete }),
      ...(value !== null && { value }),
    };
  };
  const states = Object.entries(schema.properties as Record<string, FieldOptions>).map(([name, field]) => [
    name,
    stateOf(name, field),
  ]);
  const fields: Record<Extract<keyof Static<Schema>, string>, FieldState> = Object.fromEntries(states);
  const wrong = Object.values<FieldState>(fields).flatMap(({ name, id = `field-${name}`, error }) =>
    error === null ? [] : [{ id, error }],
  );
  // The form shows a conflict itself.
  const isPlain = error == null || error.code === EDIT_CONFLICT;
  const problem: Problem | null = isPlain ? null : wrong.length > 0 ? wrong : asSentence(error.message);
  return { fields, problem };
}

function asSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?]$/.test(text) ? '' : '.'}`;
}

/**
 * Runs `work` with the values of the posted form. `again` shows the form with the error when a field is invalid, a
 * conflict prevents it, or there were too many attempts; other errors pass.
 */
export async function submit<Schema extends TObject>(
  { form }: Visit,
  schema: Schema,
  work: (values: Static<Schema>) => Promise<Answer>,
  again: (error: AppError) => Answer | Promise<Answer>,
): Promise<Answer> {
  try {
    return await work(readFields(schema, form));
  } catch (error) {
    if (!(error instanceof AppError) || ![400, 409, 429].includes(error.status)) throw error;
    return again(error);
  }
}

/** A form of a page. `again` shows the page with the error, as in `submit`. */
export function postForm<Who extends keyof Visitors, Schema extends TObject>(
  path: string,
  access: Who,
  schema: Schema,
  again: (visit: Visitors[Who], error: AppError) => Answer | Promise<Answer>,
  work: (visit: Visitors[Who], values: Static<Schema>) => Promise<Answer>,
): Page {
  return post(path, access, (visit) =>
    submit(
      visit,
      schema,
      (values) => work(visit, values),
      (error) => again(visit, error),
    ),
  );
}

/**
 * Does the work of a form with a mark; null when any process did it in the last day or is doing it. Failed work can be
 * sent again.
 */
export async function once<Result>(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  mark: string | null,
  work: () => Promise<Result>,
): Promise<Result | null> {
  if (mark === null || mark === '') return work();
  const kept = mark.slice(0, 64);
  if (!(await db.write((tx) => claimFormMark(tx, kept, clock.now()), NONE))) return null;
  try {
    return await work();
  } catch (error) {
    // Report the failure of the work, even if the mark cannot be removed.
    await toSettle({ db })
      .db.write((tx) => deleteFormMark(tx, kept), NONE)
      .catch(() => undefined);
    throw error;
  }
}

// Files that members send. The whole body is read first, so it is bounded for each upload and for all together.

/** The other fields of a form, and the boundaries between them. */
const MORE_BYTES = 64 * 1024;

/** No form with a file has as many fields. */
const MAX_UPLOAD_FIELDS = 50;

/** Read here and given to Bun, so that both count the same. */
const BOUNDARY = /;\s*boundary=(?:"([^";]{1,70})"|([^\s";]{1,70}))/i;

/** 10 MB at 1 Mbit/s. */
const TIMEOUT_MS = 100_000;

/** Unfinished uploads of all members. */
const budget = new UploadBudget(6 * (MAX_IMAGE_BYTES + MORE_BYTES));

export interface UploadKind {
  noun: 'image' | 'file';
  maxBytes: number;
  /** Absent: `maxBytes`. */
  bodyBytes?: number;
  /** What to do about a larger one. */
  advice: string;
}

const image: UploadKind = {
  noun: 'image',
  maxBytes: MAX_IMAGE_BYTES,
  advice: 'Make it smaller, then upload it again.',
};

/** 413. */
export function tooLarge({ noun, maxBytes, advice }: UploadKind): AppError {
  return new AppError(413, `The ${noun} is larger than ${maxBytes / 1024 / 1024} MB. ${advice}`);
}

function failureOf({ noun }: UploadKind, problem: Exclude<UploadProblem, 'too_large'>) {
  const failures: Readonly<Record<typeof problem, [status: number, message: string]>> = {
    aborted: [400, `The ${noun} did not arrive completely. Upload it again.`],
    too_slow: [408, `The ${noun} took too long to arrive. Upload it again, or make it smaller.`],
    no_room: [503, `Tidings is busy with other uploads. Wait a few seconds, then upload the ${noun} again.`],
  };
  return failures[problem];
}

/** A form with a file. Throws `AppError` 400, 408, 413, 415 and 503, and `AccessEnded`. */
export async function readMultipart(
  { request, deps }: Pick<MemberVisit, 'request' | 'deps'>,
  kind: UploadKind,
): Promise<FormData> {
  const type = request.headers.get('content-type') ?? '';
  const [, quoted, boundary = quoted] = BOUNDARY.exec(type) ?? [];
  if (!type.startsWith('multipart/form-data') || boundary === undefined)
    throw new AppError(415, 'Send a form with a file (multipart/form-data).');
  try {
    const limits = {
      maxBytes: (kind.bodyBytes ?? kind.maxBytes) + MORE_BYTES,
      timeoutMs: TIMEOUT_MS,
      budget,
    };
    const body = new Uint8Array(await readUpload(request, limits));
    await requireStillAllowed(deps.db);
    if (hasMoreThan(MAX_UPLOAD_FIELDS, `--${boundary}`, body)) {
      throw new AppError(413, `The form has more than ${MAX_UPLOAD_FIELDS} fields. Nothing was saved.`, {
        isRefusal: true,
      });
    }
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
    const form = await new Response(body, { headers }).formData();
    // A large form takes half of a turn, and an image of it as much.
    await letOthersIn();
    return form;
  } catch (error) {
    if (error instanceof AppError) throw error;
    const problem = error instanceof UploadError ? error.problem : 'aborted';
    if (problem === 'too_large') throw tooLarge(kind);
    const [status, message] = failureOf(kind, problem);
    throw new AppError(status, message, { cause: error, isRefusal: true });
  }
}

/** An image and its description. Throws `AppError` as `readMultipart` does. */
export async function readImageForm(visit: Pick<MemberVisit, 'request' | 'deps'>) {
  const form = await readMultipart(visit, image);
  const file = form.get('file');
  if (!(file instanceof File) || file.size === 0) {
    throw new AppError(400, 'Choose an image to upload.', { code: 'no_file' });
  }
  const alt = form.get('alt');
  return { file, alt: typeof alt === 'string' && alt.trim() !== '' ? alt : undefined };
}

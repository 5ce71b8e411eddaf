import type { Static, TObject } from '@sinclair/typebox';
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
import type { Deps } from '../people/deps.ts';
import { claimFormMark, deleteFormMark } from '../people/guard.ts';
import { MAX_IMAGE_BYTES } from '../posts/media/store.ts';
import { type Merge, mergeOf } from './edit.ts';
import { readFields } from './fields.ts';
import { type Answer, type MemberVisit, type Page, post, type Visit, type Visitors } from './page.ts';

/** With a session: a post of 200,000 characters several times, at 256 kbit/s. Without: an email address and a password. */
const LIMITS = {
  user: { maxBytes: 2 * 1024 * 1024, timeoutMs: 70_000 },
  anyone: { maxBytes: 16 * 1024, timeoutMs: UNVERIFIED_UPLOAD_MS },
};

/** A form has at most a field for each row of a long list. */
const MAX_FIELDS = 1_000;

const uploadFailures: Readonly<Record<UploadProblem, [status: number, message: string]>> = {
  too_large: [413, 'The form is too large. Nothing was saved. Shorten its text, then send it again.'],
  aborted: [400, 'The form did not arrive completely. Nothing was saved. Send it again.'],
  too_slow: [408, 'The form took too long to arrive. Nothing was saved. Send it again.'],
  no_room: [503, 'Tidings is busy. Nothing was saved. Wait a few seconds, then send the form again.'],
};

/** Current browsers send `Sec-Fetch-Site`, older ones `Origin`. A client without both is no browser. */
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

/** `again` shows the form with the error when a field is invalid, on a conflict, or after too many attempts; others pass. */
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

/** `again`: as in `submit`. `repeated`: the answer to a form with a mark that was sent before, whose work is done once. */
export function postForm<Who extends keyof Visitors, Schema extends TObject>(
  path: string,
  access: Who,
  schema: Schema,
  again: (visit: Visitors[Who], error: AppError) => Answer | Promise<Answer>,
  work: (visit: Visitors[Who], values: Static<Schema>) => Promise<Answer>,
  repeated?: (visit: Visitors[Who]) => Answer | Promise<Answer>,
): Page {
  return post(path, access, (visit) =>
    submit(
      visit,
      schema,
      async (values) => {
        if (repeated === undefined) return work(visit, values);
        return (await once(visit.deps, visit.form.get('mark'), () => work(visit, values))) ?? repeated(visit);
      },
      (error) => again(visit, error),
    ),
  );
}

/** A form that edits what is stored: `postForm` with the `merge` that its work passes to the service. */
export function editForm<Who extends keyof Visitors, Schema extends TObject>(
  path: string,
  access: Who,
  schema: Schema,
  again: (visit: Visitors[Who], error: AppError) => Answer | Promise<Answer>,
  work: (visit: Visitors[Who], values: Static<Schema>, merge: Merge) => Promise<Answer>,
): Page {
  return postForm(path, access, schema, again, (visit, values) => work(visit, values, mergeOf(visit)));
}

/** Null when any process did it in the last day or is doing it. Failed work can be sent again. */
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
  bodyBytes?: number;
  advice: string;
}

const image: UploadKind = {
  noun: 'image',
  maxBytes: MAX_IMAGE_BYTES,
  advice: 'Make it smaller, then upload it again.',
};

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

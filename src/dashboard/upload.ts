import { requireStillAllowed } from '../../db/checked.ts';
import { hasMoreThan, readUpload, UploadBudget, UploadError, type UploadProblem } from '../http/request.ts';
import { AppError } from '../lib/app-error.ts';
import { letOthersIn } from '../lib/time.ts';
import { MAX_IMAGE_BYTES } from '../media/model.ts';
import type { MemberVisit } from './page.ts';

// Files that members send. The whole body is read first, so it is bounded for each upload and for all together.

/** The other fields of a form, and the boundaries between them. */
const MORE_BYTES = 64 * 1024;

/** No form with a file has as many fields. */
const MAX_FIELDS = 50;

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
    if (hasMoreThan(MAX_FIELDS, `--${boundary}`, body)) {
      throw new AppError(413, `The form has more than ${MAX_FIELDS} fields. Nothing was saved.`, {
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

import { readUpload, UploadBudget, UploadError, type UploadProblem } from '../http/request.ts';
import { AppError } from '../lib/app-error.ts';
import { MAX_IMAGE_BYTES } from '../media/model.ts';
import type { MemberVisit } from './page.ts';

// Files that members send. The whole body is read first, so it is bounded for each upload and for all together.

/** The other fields of a form, and the boundaries between them. */
const MORE_BYTES = 64 * 1024;

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

/** A form with a file. Throws `AppError` 400, 408, 413, 415 and 503. */
export async function readMultipart(
  { request }: Pick<MemberVisit, 'request'>,
  kind: UploadKind,
): Promise<FormData> {
  const type = request.headers.get('content-type') ?? '';
  if (!type.startsWith('multipart/form-data'))
    throw new AppError(415, 'Send a form with a file (multipart/form-data).');
  try {
    const limits = {
      maxBytes: (kind.bodyBytes ?? kind.maxBytes) + MORE_BYTES,
      timeoutMs: TIMEOUT_MS,
      budget,
    };
    const body = new Uint8Array(await readUpload(request, limits));
    return await new Response(body, { headers: { 'content-type': type } }).formData();
  } catch (error) {
    const problem = error instanceof UploadError ? error.problem : 'aborted';
    if (problem === 'too_large') throw tooLarge(kind);
    const [status, message] = failureOf(kind, problem);
    throw new AppError(status, message, { cause: error, isRefusal: true });
  }
}

/** An image and its description. Throws `AppError` as `readMultipart` does. */
export async function readImageForm(visit: Pick<MemberVisit, 'request'>) {
  const form = await readMultipart(visit, image);
  const file = form.get('file');
  if (!(file instanceof File) || file.size === 0) {
    throw new AppError(400, 'Choose an image to upload.', { code: 'no_file' });
  }
  const alt = form.get('alt');
  return { file, alt: typeof alt === 'string' && alt.trim() !== '' ? alt : undefined };
}

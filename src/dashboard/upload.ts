import { readUpload, UploadBudget, UploadError, type UploadProblem } from '../http/request.ts';
import { AppError } from '../lib/app-error.ts';
import { MAX_IMAGE_BYTES } from '../media/model.ts';
import type { MemberVisit } from './page.ts';

// Files that members send. The whole body is read first, so it is bounded for each upload and for all together.

/** An image, its other fields, and the boundaries between them. */
const MAX_BYTES = MAX_IMAGE_BYTES + 64 * 1024;

/** 10 MB at 1 Mbit/s. */
const TIMEOUT_MS = 100_000;

/** Unfinished uploads of all members. */
const budget = new UploadBudget(6 * MAX_BYTES);

const failures: Readonly<Record<UploadProblem, [status: number, message: string]>> = {
  too_large: [
    413,
    `The image is larger than ${MAX_IMAGE_BYTES / 1024 / 1024} MB. Make it smaller, then upload it again.`,
  ],
  aborted: [400, 'The image did not arrive completely. Upload it again.'],
  too_slow: [408, 'The image took too long to arrive. Upload it again, or make it smaller.'],
  no_room: [503, 'Tidings is busy with other uploads. Wait a few seconds, then upload the image again.'],
};

/** The file and the texts of a form. Throws `AppError` 400, 408, 413, 415 and 503. */
export async function readFileForm({ request }: Pick<MemberVisit, 'request'>) {
  const type = request.headers.get('content-type') ?? '';
  if (!type.startsWith('multipart/form-data'))
    throw new AppError(415, 'Send a form with a file (multipart/form-data).');
  let form: FormData;
  try {
    const body = await readUpload(request, { maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS, budget });
    form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
  } catch (error) {
    const problem = error instanceof UploadError ? error.problem : 'aborted';
    const [status, message] = failures[problem];
    throw new AppError(status, message, { cause: error, isRefusal: true });
  }
  const file = form.get('file');
  if (!(file instanceof File) || file.size === 0) {
    throw new AppError(400, 'Choose an image to upload.', { code: 'no_file' });
  }
  const alt = form.get('alt');
  return { file, alt: typeof alt === 'string' && alt.trim() !== '' ? alt : undefined };
}

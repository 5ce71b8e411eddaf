import type { Metrics } from './metrics.ts';

// Reads request bodies within limits of size, time and shared memory.

/** The limit of the providers' deliveries. No other request has a large body. */
export const MAX_BODY_BYTES = 25 * 1024 * 1024;

/** The time for an upload of an unverified sender. Providers give up after 5 to 10 seconds. */
export const UNVERIFIED_UPLOAD_MS = 15_000;

/** Room for two of the largest deliveries and small ones. */
const MAX_UNVERIFIED_BYTES = 64 * 1024 * 1024;

/** The memory for bodies of unverified senders, with its metric. */
export function createUploadBudget({ registry }: Pick<Metrics, 'registry'>): UploadBudget {
  const budget = new UploadBudget(MAX_UNVERIFIED_BYTES);
  registry.gauge(
    'tidings_unverified_upload_bytes',
    'Bytes of unfinished uploads whose sender is not verified yet. At 64 MiB the largest is refused with 503.',
    () => budget.bytes,
  );
  return budget;
}

export type UploadProblem = 'too_large' | 'aborted' | 'too_slow' | 'no_room';

/** The sender caused it, so it is never logged as a failure of the service. */
export class UploadError extends Error {
  override readonly name = 'UploadError';

  constructor(
    readonly problem: UploadProblem,
    cause?: unknown,
  ) {
    super(`the body was not read: ${problem}`, { cause });
  }
}

interface Upload {
  bytes: number;
  isStopped: boolean;
  /** Ends a pending read. Bun does so itself, on answering, for a body that it buffers. */
  cancel?: () => void;
  stop(problem: UploadProblem): void;
}

/**
 * The memory that all unfinished uploads of unverified senders share. When it is full, the largest upload is stopped,
 * the oldest of equals, so that small deliveries get through while somebody holds large ones open.
 */
export class UploadBudget {
  readonly #uploads = new Set<Upload>();
  bytes = 0;

  constructor(readonly maxBytes: number) {}

  add(upload: Upload, bytes: number): void {
    this.#uploads.add(upload);
    upload.bytes += bytes;
    this.bytes += bytes;
    while (this.bytes > this.maxBytes) {
      const largest = [...this.#uploads].reduce((a, b) => (b.bytes > a.bytes ? b : a));
      this.remove(largest);
      largest.stop('no_room');
    }
  }

  remove(upload: Upload): void {
    if (this.#uploads.delete(upload)) this.bytes -= upload.bytes;
  }
}

export interface UploadLimits {
  maxBytes: number;
  /** For the whole body. */
  timeoutMs: number;
  /** Absent for known senders. */
  budget?: UploadBudget | undefined;
}

/** Up to this declared length Bun buffers the body itself, which is faster than a stream. */
const MAX_BUFFERED_BYTES = 256 * 1024;

/** NaN without `content-length`. */
const declaredBytes = (headers: Headers) => Number(headers.get('content-length') ?? Number.NaN);

export function declaresTooMuch(headers: Headers, maxBytes: number): boolean {
  return declaredBytes(headers) > maxBytes;
}

/** Reads the raw bytes of a body. Throws `UploadError`. */
export async function readUpload(
  request: Request,
  { maxBytes, timeoutMs, budget }: UploadLimits,
): Promise<Uint8Array> {
  if (declaresTooMuch(request.headers, maxBytes)) throw new UploadError('too_large');
  const stopped = Promise.withResolvers<never>();
  const upload: Upload = {
    bytes: 0,
    isStopped: false,
    stop(problem) {
      upload.isStopped = true;
      stopped.reject(new UploadError(problem));
      upload.cancel?.();
    },
  };
  const timer = setTimeout(() => upload.stop('too_slow'), timeoutMs);
  try {
    return await Promise.race([receive(request, upload, maxBytes, budget), stopped.promise]);
  } catch (error) {
    throw error instanceof UploadError ? error : new UploadError('aborted', error);
  } finally {
    clearTimeout(timer);
    budget?.remove(upload);
  }
}

async function receive(
  request: Request,
  upload: Upload,
  maxBytes: number,
  budget: UploadBudget | undefined,
): Promise<Uint8Array> {
  const declared = declaredBytes(request.headers);
  if (declared <= MAX_BUFFERED_BYTES) {
    budget?.add(upload, declared);
    return request.bytes();
  }
  const reader = request.body?.getReader();
  if (reader === undefined) return new Uint8Array();
  upload.cancel = () => void reader.cancel().catch(() => undefined);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || upload.isStopped) break;
      length += value.byteLength;
      if (length > maxBytes) {
        upload.cancel();
        throw new UploadError('too_large');
      }
      chunks.push(value);
      budget?.add(upload, value.byteLength);
    }
    return Buffer.concat(chunks);
  } finally {
    // Free the memory now, because the budget no longer counts it and the garbage collector may be late.
    for (const { buffer } of chunks) if (!buffer.detached) buffer.transfer(0);
  }
}

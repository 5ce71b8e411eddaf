// Reading request bodies within limits of size, time and shared memory.

/** Why a body was not read: too large, cut off by the sender, too slow, or out of shared memory. */
export type UploadProblem = 'too_large' | 'aborted' | 'too_slow' | 'no_room';

/** A body that was not read. The sender caused it, so it is never logged as a failure of the service. */
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
 * the oldest of equals: small deliveries get through while somebody holds large ones open.
 */
export class UploadBudget {
  readonly #uploads = new Set<Upload>();
  #bytes = 0;

  constructor(readonly maxBytes: number) {}

  /** The bytes that are held now. */
  get bytes(): number {
    return this.#bytes;
  }

  add(upload: Upload, bytes: number): void {
    this.#uploads.add(upload);
    upload.bytes += bytes;
    this.#bytes += bytes;
    while (this.#bytes > this.maxBytes) {
      const largest = [...this.#uploads].reduce((a, b) => (b.bytes > a.bytes ? b : a));
      this.remove(largest);
      largest.stop('no_room');
    }
  }

  remove(upload: Upload): void {
    if (this.#uploads.delete(upload)) this.#bytes -= upload.bytes;
  }
}

export interface UploadLimits {
  maxBytes: number;
  /** For the whole body, however steadily it comes. */
  timeoutMs: number;
  /** Absent for senders that are known. */
  budget?: UploadBudget | undefined;
}

/** Up to this declared length Bun buffers the body itself, which is faster than a stream. */
const MAX_BUFFERED_BYTES = 256 * 1024;

/** The length that a body declares; null when it declares none. */
function declaredBytes(headers: Headers): number | null {
  const length = headers.get('content-length');
  return length === null ? null : Number(length);
}

/** Whether a body says itself that it is too large. */
export function declaresTooMuch(headers: Headers, maxBytes: number): boolean {
  return (declaredBytes(headers) ?? 0) > maxBytes;
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
  if (declared !== null && declared <= MAX_BUFFERED_BYTES) {
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
    // Free the memory now: the budget counts it no more, and the garbage collector may take its time.
    for (const { buffer } of chunks) if (!buffer.detached) buffer.transfer(0);
  }
}

import { AwsV4Signer } from 'aws4fetch';
import { fetchWithoutRedirects } from './network.ts';

// Bun's S3 client follows redirects to any origin, backup included, and has no option against it.

/** Size of a part of a multipart upload, in bytes. One part is in memory at a time. */
const PART_BYTES = 8 * 1024 * 1024;
const MAX_PARTS = 10_000;

/** A store lists at most 1,000 names a page. */
const MAX_PAGES = 1_000;

/** A page of names takes less than 2 MB. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024;

const ATTEMPTS = 3;
const PAUSE_MS = 200;

/** How long the store may stand still, in milliseconds. */
const STALL_MS = 60_000;

/** A response of the store other than success. */
class BucketError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Access to an S3-compatible store. */
export interface S3Access {
  /** The settings that the access comes from begin with it, such as `BACKUP_S3`. */
  settings?: string;
  /** Absent: AWS. */
  endpoint?: string | undefined;
  region?: string | undefined;
  accessKeyId: string;
  secretAccessKey: string;
  /** How long the store may send and take nothing, in milliseconds. Absent: a minute. */
  stallMs?: number | undefined;
}

/** Bytes of an object, first and last. */
export interface ByteRange {
  first: number;
  last: number;
}

interface Sending {
  query?: Record<string, string>;
  range?: ByteRange | undefined;
  body?: Uint8Array<ArrayBuffer> | string;
}

/** `modifiedAt` is invalid when the store does not say it. */
export interface BucketEntry {
  key: string;
  modifiedAt: Date;
}

export type Bucket = ReturnType<typeof openBucket>;

/** The requests to an S3-compatible store that backups and images need, each to the store's own origin. */
export function openBucket(
  name: string,
  { settings = 'BACKUP_S3', endpoint, region, stallMs = STALL_MS, ...keys }: S3Access,
) {
  const base = new URL(endpoint ?? `https://s3.${region ?? 'us-east-1'}.amazonaws.com`);
  const isKnown = /\.(?:amazonaws\.com|backblazeb2\.com)$/.test(base.hostname);
  // An empty region: the signer reads it from the host name.
  const signing = { service: 's3', region: region ?? (isKnown ? '' : 'auto'), ...keys };

  async function sendOnce(
    method: string,
    key: string,
    { query = {}, body, range }: Sending,
  ): Promise<Response> {
    const url = new URL(`/${[name, ...key.split('/')].map(encodeURIComponent).join('/')}`, base);
    for (const [parameter, value] of Object.entries(query)) url.searchParams.set(parameter, value);
    const payload = Bun.SHA256.hash(body ?? '', 'hex');
    const signer = new AwsV4Signer({
      url: url.href,
      method,
      headers: {
        'x-amz-content-sha256': payload,
        ...(range && { range: `bytes=${range.first}-${range.last}` }),
      },
      ...signing,
    });
    const { url: signedUrl, headers } = await signer.sign();
    const abort = new AbortController();
    const response = fetchWithoutRedirects(signedUrl, {
      method,
      headers,
      body: body ?? null,
      signal: abort.signal,
    });
    return unlessStalled(stallMs, response, () => abort.abort());
  }

  /** Retries while the store cannot be reached or is overloaded. */
  async function send(method: string, key: string, sending: Sending = {}): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt === ATTEMPTS;
      try {
        const response = await sendOnce(method, key, sending);
        if (isLast || (response.status < 500 && response.status !== 429)) return response;
        await response.body?.cancel();
      } catch (error) {
        if (isLast || error instanceof BucketError) throw error;
      }
      await Bun.sleep(attempt * PAUSE_MS);
    }
  }

  async function request(method: string, key: string, sending?: Sending): Promise<Response> {
    const response = await send(method, key, sending);
    if (!response.ok) throw await errorOf(response);
    return response;
  }

  const textOf = (response: Response) => readText(response, stallMs);

  async function errorOf(response: Response): Promise<BucketError> {
    return redirectIn(response, settings) ?? errorIn(await textOf(response), response.status);
  }

  async function writeParts(key: string, file: Bun.BunFile): Promise<void> {
    const started = await textOf(await request('POST', key, { query: { uploads: '' } }));
    const uploadId = elementText(started, 'UploadId');
    if (uploadId === null) throw unexpected('the store returned no upload id');
    try {
      const bytes = Math.max(PART_BYTES, Math.ceil(file.size / MAX_PARTS));
      const parts: string[] = [];
      for (let start = 0; start < file.size; start += bytes) {
        const body = await file.slice(start, start + bytes).bytes();
        const query = { partNumber: String(parts.length + 1), uploadId };
        const { headers } = await request('PUT', key, { query, body });
        const etag = Bun.escapeHTML(headers.get('etag') ?? '');
        parts.push(`<Part><PartNumber>${query.partNumber}</PartNumber><ETag>${etag}</ETag></Part>`);
      }
      const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
      // A store that fails late sends 200 with an error.
      const completed = await textOf(await request('POST', key, { query: { uploadId }, body }));
      if (!completed.includes('<CompleteMultipartUploadResult')) throw errorIn(completed, 200);
    } catch (error) {
      // Parts that stay at the store cost money.
      await send('DELETE', key, { query: { uploadId } }).catch(() => undefined);
      throw error;
    }
  }

  return {
    /** The size of an object; null when there is none. */
    async size(key: string): Promise<number | null> {
      const response = await send('HEAD', key);
      if (response.status === 404) return null;
      if (!response.ok) throw await errorOf(response);
      return Number(response.headers.get('content-length') ?? 0);
    },
    /** An object, and how many bytes the store says it has. */
    async read(key: string, range?: ByteRange) {
      const response = await request('GET', key, { range });
      const bytes = Number(response.headers.get('content-length') ?? 0);
      // For a body of which nothing was read. Later it is locked, and its own cleanup cancels it.
      const cancel = () => void response.body?.cancel().catch(() => undefined);
      return { bytes, body: chunksOf(response, stallMs), cancel };
    },
    /** Uploads the file at `path`, in parts when it is large. */
    async write(key: string, path: string): Promise<void> {
      const file = Bun.file(path);
      if (file.size > PART_BYTES) return writeParts(key, file);
      await request('PUT', key, { body: await file.bytes() });
    },
    /** Uploads a small object. */
    async writeBytes(key: string, body: Uint8Array<ArrayBuffer>): Promise<void> {
      await request('PUT', key, { body });
    },
    async list(prefix: string): Promise<BucketEntry[]> {
      const entries: BucketEntry[] = [];
      let token: string | null = null;
      for (let page = 0; page < MAX_PAGES; page++) {
        const query: Record<string, string> = { 'list-type': '2', prefix };
        if (token !== null) query['continuation-token'] = token;
        const listed = await textOf(await request('GET', '', { query }));
        if (!listed.includes('<ListBucketResult')) throw unexpected('the store sent no list of objects');
        for (const [entry] of listed.matchAll(/<Contents>.*?<\/Contents>/gs)) {
          const modifiedAt = new Date(elementText(entry, 'LastModified') ?? Number.NaN);
          entries.push({ key: elementText(entry, 'Key') ?? '', modifiedAt });
        }
        token =
          elementText(listed, 'IsTruncated') === 'true' ? elementText(listed, 'NextContinuationToken') : null;
        if (token === null) break;
      }
      return entries;
    },
    async remove(key: string): Promise<void> {
      await request('DELETE', key);
    },
  };
}

function redirectIn({ status, headers, url }: Response, settings: string): BucketError | null {
  const location = headers.get('location');
  if (status < 300 || status >= 400 || location === null) return null;
  const origin = URL.parse(location, url)?.origin ?? location;
  return new BucketError(
    'Redirect',
    `it redirects to ${origin}, which Tidings does not follow. Set ${settings}_ENDPOINT and ${settings}_REGION to those of the bucket`,
  );
}

/** Rejects, and calls `stop`, when `work` takes longer than the store may stand still. */
function unlessStalled<Result>(ms: number, work: Promise<Result>, stop?: () => void): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new BucketError('Timeout', `no response within ${ms / 1000} seconds`));
    stop?.();
  }, ms);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

/** The body as it comes. Throws when nothing comes for `stallMs`; ends the transfer when the caller stops early. */
async function* chunksOf(response: Response, stallMs: number): AsyncGenerator<Uint8Array, void> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await unlessStalled(stallMs, reader.read());
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function errorIn(text: string, status: number): BucketError {
  return new BucketError(elementText(text, 'Code') ?? `status ${status}`, elementText(text, 'Message') ?? '');
}

const unexpected = (message: string) => new BucketError('UnexpectedResponse', message);

async function readText(response: Response, stallMs: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(response, stallMs)) {
    bytes += chunk.length;
    if (bytes > MAX_TEXT_BYTES) throw unexpected('the store sent more than 16 MiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The text of the first element of this name. */
function elementText(xml: string, name: string): string | null {
  const value = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return value === undefined ? null : unescapeXml(value);
}

const ENTITIES = new Map(Object.entries({ lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }));

function unescapeXml(text: string): string {
  return text.replaceAll(/&([a-z]+);/g, (entity, name) => ENTITIES.get(name) ?? entity);
}

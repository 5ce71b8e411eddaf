export const S3_ACCESS = { BACKUP_S3_ACCESS_KEY_ID: 'test-id', BACKUP_S3_SECRET_ACCESS_KEY: 'test-secret' };

/** Faults of the following requests. */
export type S3Fault =
  | 'denies'
  /** Answers 503. */
  | 'is unavailable'
  | 'never answers'
  /** Stores something else than it was sent, and says that all is well. */
  | 'stores another byte'
  /** Ends the connection in the middle of what it was sent. */
  | 'hangs up on uploads'
  | 'never answers uploads'
  /** Refuses to put the parts together, with status 200 as AWS does. */
  | 'refuses the last part'
  | 'hangs up on downloads'
  | 'sends half';

export interface S3Server extends Disposable {
  readonly url: string;
  /** Objects of the one bucket `backups`, by key. */
  readonly objects: Map<string, Buffer>;
  /** Each request: its method and what it was for, such as `PUT part`. */
  readonly requests: string[];
  fault: S3Fault | null;
}

/** Stands in for an S3-compatible store over real HTTP: one bucket, `backups`, addressed by path. */
export function startS3Server(): S3Server {
  const objects = new Map<string, Buffer>();
  const uploads = new Map<string, { key: string; parts: Map<number, Buffer> }>();
  const requests: string[] = [];
  let fault: S3Fault | null = null;

  function store(key: string, bytes: Buffer): string {
    const kept = Buffer.from(bytes);
    if (fault === 'stores another byte') kept[kept.length - 1] = (kept.at(-1) ?? 0) ^ 1;
    objects.set(key, kept);
    return `"${Bun.MD5.hash(bytes, 'hex')}"`;
  }

  async function put(url: URL, key: string, bytes: Buffer): Promise<Response> {
    const upload = uploads.get(url.searchParams.get('uploadId') ?? '');
    if (upload === undefined) return new Response(null, { headers: { etag: store(key, bytes) } });
    upload.parts.set(Number(url.searchParams.get('partNumber')), bytes);
    return new Response(null, { headers: { etag: `"${Bun.MD5.hash(bytes, 'hex')}"` } });
  }

  function post(url: URL, key: string): Response {
    if (url.searchParams.has('uploads')) {
      const id = `upload-${uploads.size}`;
      uploads.set(id, { key, parts: new Map() });
      return xml(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
    }
    const upload = uploads.get(url.searchParams.get('uploadId') ?? '');
    if (upload === undefined) return refusal(404, 'NoSuchUpload');
    if (fault === 'refuses the last part') return refusal(200, 'EntityTooSmall');
    const parts = [...upload.parts].sort(([a], [b]) => a - b).map(([, bytes]) => bytes);
    const etag = store(key, Buffer.concat(parts));
    return xml(`<CompleteMultipartUploadResult><ETag>${etag}</ETag></CompleteMultipartUploadResult>`);
  }

  function read({ method, headers: given }: Request, key: string): Response {
    const bytes = objects.get(key);
    if (bytes === undefined) return refusal(404, 'NoSuchKey');
    const headers = { 'content-length': String(bytes.length), etag: `"${Bun.MD5.hash(bytes, 'hex')}"` };
    if (method === 'HEAD') return new Response(null, { headers });
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(given.get('range') ?? '') ?? [];
    if (first !== undefined) {
      return new Response(new Uint8Array(bytes.subarray(Number(first), Number(last) + 1)), { status: 206 });
    }
    return new Response(new Uint8Array(fault === 'sends half' ? bytes.subarray(0, bytes.length / 2) : bytes));
  }

  function list(url: URL): Response {
    const prefix = url.searchParams.get('prefix') ?? '';
    const after = url.searchParams.get('continuation-token') ?? '';
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    // Pages of two, so that whoever reads only the first is found out.
    const page = keys.slice(0, 2);
    const isTruncated = keys.length > page.length;
    return xml(
      `<ListBucketResult><Name>backups</Name><Prefix>${prefix}</Prefix><KeyCount>${page.length}</KeyCount><MaxKeys>2</MaxKeys><IsTruncated>${isTruncated}</IsTruncated>${
        isTruncated ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''
      }${page.map((key) => `<Contents><Key>${key}</Key><Size>${objects.get(key)?.length}</Size><LastModified>2026-11-20T12:00:00.000Z</LastModified></Contents>`).join('')}</ListBucketResult>`,
    );
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    maxRequestBodySize: 64 * 1024 * 1024,
    async fetch(request) {
      const url = new URL(request.url);
      const [, bucket = '', ...rest] = url.pathname.split('/').map(decodeURIComponent);
      const key = rest.join('/');
      const detail = ['uploads', 'partNumber', 'uploadId', 'list-type'].find((name) =>
        url.searchParams.has(name),
      );
      requests.push([request.method, detail].filter(Boolean).join(' '));
      const signature = request.headers.get('authorization') ?? '';
      const isSigned =
        /^AWS4-HMAC-SHA256 Credential=test-id\/\d{8}\/[\w-]+\/s3\/aws4_request, ?SignedHeaders=[^,]*host[^,]*, ?Signature=[0-9a-f]{64}$/;
      if (!isSigned.test(signature) || fault === 'denies') return refusal(403, 'AccessDenied');
      if (fault === 'is unavailable') return refusal(503, 'SlowDown');
      if (fault === 'never answers') return Promise.withResolvers<Response>().promise;
      if (bucket !== 'backups') return refusal(404, 'NoSuchBucket');
      const isUpload = request.method === 'PUT';
      if (isUpload && fault === 'hangs up on uploads') void server.stop(true);
      if (request.method === 'GET' && key !== '' && fault === 'hangs up on downloads') void server.stop(true);
      if (isUpload && fault === 'never answers uploads') return Promise.withResolvers<Response>().promise;
      if (isUpload && request.headers.get('content-length') === null)
        return refusal(411, 'MissingContentLength');
      if (isUpload) return put(url, key, Buffer.from(await request.arrayBuffer()));
      if (request.method === 'POST') return post(url, key);
      if (request.method === 'DELETE') {
        objects.delete(key);
        return new Response(null, { status: 204 });
      }
      return key === '' ? list(url) : read(request, key);
    },
  });

  return {
    url: `http://127.0.0.1:${server.port}`,
    objects,
    requests,
    get fault() {
      return fault;
    },
    set fault(next) {
      fault = next;
    },
    [Symbol.dispose]: () => void server.stop(true),
  };
}

function xml(text: string): Response {
  return new Response(`<?xml version="1.0" encoding="UTF-8"?>${text}`, {
    headers: { 'content-type': 'application/xml' },
  });
}

function refusal(status: number, code: string): Response {
  return new Response(
    `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code} it is</Message></Error>`,
    { status, headers: { 'content-type': 'application/xml' } },
  );
}

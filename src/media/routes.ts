import { Elysia } from 'elysia';
import type { Deps } from '../deps.ts';
import { always, documented, refusal, unavailable } from '../http/openapi.ts';
import { fileResponse, matchesEtag, notModifiedFile } from '../http/respond.ts';
import { AppError } from '../lib/app-error.ts';
import type { ByteRange } from '../lib/bucket.ts';
import { imageTypes, parseFileName } from './model.ts';
import { fromStore } from './service.ts';

/** `GET /media/{file}`: the images of posts, for everybody. The content of an address never changes. */
export function media({ media: { files } }: Pick<Deps, 'media'>) {
  async function serve(request: Request, name: string): Promise<Response> {
    const file = parseFileName(name);
    if (file === null || files === null) throw new AppError(404, 'Not found');
    // The id stands for one content, and is as good a tag as a hash of it.
    const etag = `"${file.id}"`;
    const size = await fromStore(files.size(name));
    if (size === null) throw new AppError(404, 'Not found');
    if (matchesEtag(request.headers.get('if-none-match'), etag)) return notModifiedFile(etag);
    const range = rangeOf(request.headers, etag, size);
    if (range === 'outside') {
      throw new AppError(416, 'Range not satisfiable', { headers: { 'content-range': `bytes */${size}` } });
    }
    const body =
      request.method === 'HEAD' ? blank(size) : await fromStore(files.read(name, range ?? undefined));
    return fileResponse(body, { type: file.type, etag, size, range });
  }

  return new Elysia({ name: 'media' }).get(
    '/media/:file',
    ({ request, params }) => serve(request, params.file),
    {
      detail: documented({
        operationId: 'getImage',
        tags: ['Posts'],
        summary: 'An image of a post',
        description:
          'The images that the Markdown of posts shows. Needs no key. The content of an address never changes, so caches may keep it.',
        security: [],
        responses: {
          200: imageResponse('The image.'),
          206: imageResponse('The part that `Range` asks for.'),
          304: { description: 'The image matches `If-None-Match`.', headers: cachingHeaders },
          404: refusal('The image does not exist.', ['Not found']),
          416: refusal('`Range` starts after the end of the image.', ['Range not satisfiable']),
          503: unavailable('The storage of images does not respond. The log says why.', [
            'Images are not available right now',
          ]),
        },
      }),
    },
  );
}

const BLANK = new Uint8Array(64 * 1024);

/** Elysia answers HEAD by counting the bytes that GET would send: count these instead of the file's. */
async function* blank(size: number): AsyncGenerator<Uint8Array> {
  for (let left = size; left > 0; left -= BLANK.length) yield BLANK.subarray(0, Math.min(left, BLANK.length));
}

const cachingHeaders = {
  ETag: always('The version of the image. It never changes.'),
  'Cache-Control': always('The image never changes, so caches can keep it.', {
    type: 'string',
    const: 'public, max-age=31536000, immutable',
  }),
};

const imageResponse = (description: string) => ({
  description,
  headers: cachingHeaders,
  content: Object.fromEntries(
    imageTypes.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
  ),
});

/** The one range that is asked for; null for the whole file. A range of another version counts as none. */
function rangeOf(headers: Headers, etag: string, size: number): ByteRange | 'outside' | null {
  const [, start, end] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(headers.get('range') ?? '') ?? [];
  const condition = headers.get('if-range');
  if (
    start === undefined ||
    end === undefined ||
    start + end === '' ||
    (condition !== null && condition !== etag)
  ) {
    return null;
  }
  const first = start === '' ? Math.max(0, size - Number(end)) : Number(start);
  const last = start === '' || end === '' ? size - 1 : Math.min(Number(end), size - 1);
  if (start !== '' && end !== '' && Number(end) < first) return null;
  return first >= size || last < first ? 'outside' : { first, last };
}

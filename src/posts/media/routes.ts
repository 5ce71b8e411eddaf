import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { always, parameters, refusal, unavailable } from '../../http/openapi.ts';
import type { Deps } from '../../people/deps.ts';
import { imageServer } from './service.ts';
import { imageTypes } from './store.ts';

/** `GET /media/{file}`: the images of posts, for everybody. The content of an address never changes. */
export function media(deps: Pick<Deps, 'db' | 'media'>) {
  const serve = imageServer(deps);

  return new Elysia({ name: 'media' }).get(
    '/media/:file',
    ({ request, params }) => serve(request, params.file),
    {
      detail: {
        operationId: 'getImage',
        tags: ['Posts'],
        summary: 'An image of a post',
        description:
          'The images that the Markdown of posts shows. Needs no key. The content of an address never changes, so caches may keep it.',
        security: [],
        parameters: parameters('path', Type.Object({ file: Type.String() })),
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
      },
    },
  );
}

const cachingHeaders = {
  ETag: always('The version of the image. It never changes.'),
  'Cache-Control': always(
    'The image never changes, so caches can keep it.',
    Type.Literal('public, max-age=31536000, immutable'),
  ),
};

const imageResponse = (description: string) => ({
  description,
  headers: cachingHeaders,
  content: Object.fromEntries(
    imageTypes.map((type) => [type, { schema: Type.String({ format: 'binary' }) }]),
  ),
});

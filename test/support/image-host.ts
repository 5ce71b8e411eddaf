import type { CopyOptions } from '../../src/posts/media/copies.ts';
import { imageFixture } from './media.ts';

export interface ImageHost extends Disposable {
  /** The address of a path, under a name that resolves to this machine. */
  at(path: string, host?: string): string;
  /** Each request: its path, and its Authorization if it has one. */
  readonly requests: string[];
  /** Answers for paths, in turn; the last one stays. */
  readonly answers: Map<string, (() => Response | Promise<Response>)[]>;
  /** To copy from here. */
  readonly options: CopyOptions;
}

/** Stands in for a code host's attachments and their storage, over real HTTP. `/photo.png` and so on are images. */
export function startImageHost(): ImageHost {
  const requests: string[] = [];
  const answers: ImageHost['answers'] = new Map();
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, host } = new URL(request.url);
      requests.push(`${host.split(':')[0]}${pathname} ${request.headers.get('authorization') ?? ''}`.trim());
      const queue = answers.get(pathname);
      const answer = (queue?.length ?? 0) > 1 ? queue?.shift() : queue?.[0];
      if (answer !== undefined) return answer();
      return new Response(imageFixture(pathname.slice(1)));
    },
  });
  return {
    requests,
    answers,
    at: (path, host = 'images.example') => `http://${host}:${server.port}${path}`,
    options: {
      plainHosts: new Set(['images.example', 'storage.example', 'inside.example', '127.0.0.1']),
      resolve: async (host) => (host === 'inside.example' ? ['10.0.0.1'] : ['127.0.0.1']),
      isAllowed: (address) => address === '127.0.0.1',
    },
    [Symbol.dispose]: () => void server.stop(true),
  };
}

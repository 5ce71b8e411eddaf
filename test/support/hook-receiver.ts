import { Webhook } from 'standardwebhooks';

export interface Received {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
}

export interface HookReceiver extends Disposable {
  /** The address of a path on this machine. */
  at(path: string): string;
  /** Each request, in the order of arrival. */
  readonly requests: Received[];
  /** Responses for paths, in turn; the last one stays. Without one: 204. */
  readonly responses: Map<string, (() => Response | Promise<Response>)[]>;
}

/** Hosts that hooks of tests may call, for `hookPrivateHosts`. */
export const LOCAL_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1']);

/** Stands in for the receivers of hooks, over real HTTP. */
export function startHookReceiver(): HookReceiver {
  const requests: Received[] = [];
  const responses: HookReceiver['responses'] = new Map();
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const { method, headers } = request;
      requests.push({
        method,
        path: pathname + search,
        headers: headers.toJSON(),
        body: await request.text(),
      });
      const queue = responses.get(pathname);
      const respond = (queue?.length ?? 0) > 1 ? queue?.shift() : queue?.[0];
      return respond === undefined ? new Response(null, { status: 204 }) : respond();
    },
  });
  return {
    requests,
    responses,
    at: (path) => `http://127.0.0.1:${server.port}${path}`,
    [Symbol.dispose]: () => void server.stop(true),
  };
}

/** The payload of a signed request. Throws as the official library does. */
export function verified(secret: string, { body, headers }: Received) {
  return new Webhook(secret).verify(body, headers) as {
    type: string;
    timestamp: string;
    data: Record<string, unknown>;
  };
}

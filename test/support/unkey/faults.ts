import type { Socket } from 'bun';
import { refusals } from './refusal.ts';

const REQUEST_ID = 'req_fault';

const html = (status: number) =>
  new Response('<!doctype html><title>Not what you asked for</title>', {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8' },
  });

const json = (body: string, status = 200) =>
  new Response(body, { status, headers: { 'content-type': 'application/json' } });

/** Ways in which a service, or what stands before it, fails to answer as it should. */
export const faults = {
  'never answers': () => Promise.withResolvers<Response>().promise,
  'stops in the middle of its answer': () => {
    const body = new ReadableStream({ start: (controller) => controller.enqueue('{"meta":') });
    return new Response(body, { headers: { 'content-type': 'application/json' } });
  },
  'answers 500': () => refusals.broken().toResponse(REQUEST_ID),
  'answers 429': () => refusals.tooMany().toResponse(REQUEST_ID),
  'answers 403: the root key may not verify': () =>
    refusals.noPermission('verify_key', 'api_x').toResponse(REQUEST_ID),
  'answers 200 with a page': () => html(200),
  'answers 403 with a page': () => html(403),
  'answers 403 with JSON of another shape': () => json('{"error":"no"}', 403),
  'answers 502 with a page': () => html(502),
  'answers broken JSON': () => json('{"meta":{"requestId":"req_1"},"data":{"valid":tr'),
  'answers an empty body': () => json(''),
  'answers JSON of another shape': () => json('{"ok":true,"key":{"valid":true}}'),
  'answers null': () => json('null'),
} as const satisfies Record<string, () => Response | Promise<Response>>;

export type Fault = keyof typeof faults;
export const allFaults = Object.keys(faults) as Fault[];

/**
 * An address that nobody listens at, and nobody else can while this is held: the near end of a connection.
 * A port that is merely let go of may be another server's a moment later.
 */
export async function holdDeadAddress() {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: hangUp } });
  const { port } = listener;
  const held = await Bun.connect({ hostname: '127.0.0.1', port, socket: { data: hangUp } });
  return {
    url: `http://127.0.0.1:${held.localPort}`,
    [Symbol.dispose]() {
      held.end();
      listener.stop(true);
    },
  };
}

/** A server that takes each connection and closes it at once; `connections` counts them. */
export function startClosingServer() {
  let connections = 0;
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        connections++;
        hangUp(socket);
      },
      data: hangUp,
    },
  });
  return {
    url: `http://127.0.0.1:${listener.port}`,
    connections: () => connections,
    [Symbol.dispose]: () => listener.stop(true),
  };
}

function hangUp(socket: Socket): void {
  socket.end();
}

import type { Storage } from '../../db/engine.ts';

/** A form whose body has arrived in part. */
export interface HeldRequest {
  path: string;
  /** Sends the rest. Resolves to the response. */
  finish(): Promise<{ status: number; text: string }>;
}

/** Posts over a socket of its own, and keeps back the end of the body. */
export async function holdOpen(
  port: number | undefined,
  path: string,
  body: URLSearchParams | FormData | string,
  headers: Record<string, string> = {},
  // With it a form is too large to be read before its sender is known.
  padding = 17_000,
): Promise<HeldRequest> {
  const padded =
    body instanceof URLSearchParams ? new URLSearchParams([...body, ['rest', 'x'.repeat(padding)]]) : body;
  const message = new Response(padded);
  const type = message.headers.get('content-type') ?? '';
  const bytes = await message.bytes();
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    'connection: close',
    `content-length: ${bytes.length}`,
    ...Object.entries({ 'content-type': type, ...headers }).map(([name, value]) => `${name}: ${value}`),
  ];
  const kept = bytes.subarray(-32);
  const { promise: answer, resolve } = Promise.withResolvers<string>();
  let text = '';
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: port ?? 0,
    socket: {
      data: (_, more) => {
        text += more.toString();
      },
      close: () => resolve(text),
    },
  });
  socket.write(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes.subarray(0, -32)]));
  return {
    path,
    async finish() {
      socket.write(kept);
      const whole = await answer;
      return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(whole)?.[1]), text: whole };
    },
  };
}

/** Resolves when so many reads have been done from now on, such as one for each request that is admitted. */
export function readsOf(db: Storage, count: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const read = db.read;
  let done = 0;
  db.read = (async (...given: Parameters<Storage['read']>) => {
    try {
      return await read.apply(db, given);
    } finally {
      if (++done === count) {
        db.read = read;
        resolve();
      }
    }
  }) as Storage['read'];
  return promise;
}

/**
 * A local server's response to a request of these lines, byte for byte, until it closes the
 * connection: for what `fetch` would put right before it is sent. Ask for `Connection: close`.
 */
export async function exchange(
  port: number | undefined,
  head: readonly string[],
  body = '',
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let answer = '';
  await Bun.connect({
    hostname: '127.0.0.1',
    port: port ?? 0,
    socket: {
      open: (socket) => void socket.write([...head, '', body].join('\r\n')),
      data: (_, bytes) => {
        answer += bytes.toString();
      },
      close: () => resolve(answer),
    },
  });
  return promise;
}

// A load balancer of its own port: it asks each process for `/ready`, and passes requests to those that answer 200.

/** How often it asks, in milliseconds. */
const LOOK_MS = 100;

export interface Balancer extends Disposable {
  readonly url: string;
  /** The processes that get requests. */
  ready(): readonly string[];
}

/** Balances between the URLs that `processes` returns at each look. Without a ready one, it answers 503 itself. */
export async function startBalancer(processes: () => readonly string[]): Promise<Balancer> {
  let ready: string[] = [];
  let turn = 0;
  const look = async () => {
    const urls = processes();
    const answers = await Promise.all(
      urls.map((url) =>
        fetch(`${url}/ready`).then(
          ({ ok }) => ok,
          () => false,
        ),
      ),
    );
    ready = urls.filter((_, at) => answers[at]);
  };
  await look();
  const timer = setInterval(look, LOOK_MS);
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const target = ready[turn++ % ready.length];
      if (target === undefined) return new Response('no process is ready', { status: 503 });
      const { pathname, search } = new URL(request.url);
      const { method, headers } = request;
      const body = await request.arrayBuffer();
      try {
        return await fetch(target + pathname + search, {
          method,
          headers,
          body: body.byteLength > 0 ? body : null,
          redirect: 'manual',
        });
      } catch {
        return new Response('the process did not answer', { status: 502 });
      }
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    ready: () => ready,
    [Symbol.dispose]() {
      clearInterval(timer);
      void server.stop(true);
    },
  };
}

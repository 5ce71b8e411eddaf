// The ceiling: what Bun answers when there is nothing to do.

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  development: false,
  fetch: () => new Response('Hello, world!'),
});
process.stdout.write(`Listening on ${server.url.origin}\n`);

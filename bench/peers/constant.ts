// The ceiling of a body: Bun sends the same bytes every time, from a file that is read once.

const body = await Bun.file(Bun.argv[2] ?? '').bytes();
const headers = { 'content-type': 'application/json' };

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  development: false,
  fetch: () => new Response(body, { headers }),
});
process.stdout.write(`Listening on ${server.url.origin}\n`);

export {};

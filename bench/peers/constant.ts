// The ceiling of a body: Bun sends the same bytes every time, from a file that is read once.

const [file = '', ...encoding] = Bun.argv.slice(2);
const body = await Bun.file(file).bytes();
const headers = {
  'content-type': 'application/json',
  ...(encoding[0] !== undefined && { 'content-encoding': encoding[0] }),
};

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  development: false,
  fetch: () => new Response(body, { headers }),
});
process.stdout.write(`Listening on ${server.url.origin}\n`);

export {};

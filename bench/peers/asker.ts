// Asks for one URL again and again, one request at a time, until it is told to stop; then prints, as JSON, how long
// each took in milliseconds. A process of its own: what holds up the server must not hold up the watch.

const [url = '', authorization = ''] = Bun.argv.slice(2);
const took: number[] = [];
let isAsking = true;

process.once('SIGTERM', () => {
  isAsking = false;
});
process.stdout.write('asking\n');

while (isAsking) {
  const startedAt = performance.now();
  const response = await fetch(url, { headers: { authorization } });
  await response.bytes();
  if (!response.ok) throw new Error(`${response.status} at ${url}`);
  took.push(performance.now() - startedAt);
}
process.stdout.write(`${JSON.stringify(took)}\n`);

export {};

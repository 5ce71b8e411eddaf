// Asks for one URL again and again, one request at a time, so many times or until it is told to stop; then prints, as
// JSON, how long each took in milliseconds, body and all. A process of its own: what holds up the server must not hold
// up the watch.

const [url = '', headers = '{}', times = 'Infinity'] = Bun.argv.slice(2);
const took: number[] = [];
let isAsking = true;

process.once('SIGTERM', () => {
  isAsking = false;
});
process.stdout.write('asking\n');

while (isAsking && took.length < Number(times)) {
  const startedAt = performance.now();
  const response = await fetch(url, { headers: JSON.parse(headers), redirect: 'manual' });
  await response.bytes();
  if (!response.ok) throw new Error(`${response.status} at ${url}`);
  took.push(performance.now() - startedAt);
}
process.stdout.write(`${JSON.stringify(took)}\n`);

export {};

// Sends one request after another, so many times or until it gets SIGTERM; then prints, as JSON, how long each took in
// milliseconds, body and all. A process of its own: work that holds up the server must not hold up the watch.

import type { Asked } from '../support/waits.ts';

/** The first requests are slow: connections open, and code is compiled. They do not count. */
const WARM_UP = 100;

const [given = '', times = 'Infinity'] = Bun.argv.slice(2);
const { url, headers, post } = JSON.parse(given) as Asked;
const timings: number[] = [];
let isAsking = true;

process.once('SIGTERM', () => {
  isAsking = false;
});

/** Each post has a value of its own in one header. */
const nextRequest = (): RequestInit =>
  post === undefined
    ? { headers, redirect: 'manual' }
    : {
        method: 'POST',
        body: post.text,
        headers: { ...headers, [post.countingHeader]: Bun.randomUUIDv7() },
        redirect: 'manual',
      };

async function ask(): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(url, nextRequest());
  await response.bytes();
  if (!response.ok) throw new Error(`${response.status} at ${url}`);
  return performance.now() - startedAt;
}

if (times === 'Infinity') for (let count = 0; count < WARM_UP; count++) await ask();
process.stdout.write('asking\n');
while (isAsking && timings.length < Number(times)) timings.push(await ask());
process.stdout.write(`${JSON.stringify(timings)}\n`);

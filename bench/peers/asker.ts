// Sends one request after another, so many times or until it gets SIGTERM; then prints, as JSON, when each began and how
// long it took in milliseconds, body and all. A process of its own: work that holds up the server must not hold up the watch.

import type { Asked, Timing } from '../support/waits.ts';

const [given = '', times = 'Infinity'] = Bun.argv.slice(2);
const { url, headers, post } = JSON.parse(given) as Asked;
const run = Bun.randomUUIDv7();
const timings: Timing[] = [];
let isAsking = true;

process.once('SIGTERM', () => {
  isAsking = false;
});
process.stdout.write('asking\n');

/** Each post has a value of its own in one header. */
const requestOf = (number: number): RequestInit =>
  post === undefined
    ? { headers, redirect: 'manual' }
    : {
        method: 'POST',
        body: post.text,
        headers: { ...headers, [post.countingHeader]: `${run}-${number}` },
        redirect: 'manual',
      };

while (isAsking && timings.length < Number(times)) {
  const startedAt = performance.now();
  const response = await fetch(url, requestOf(timings.length));
  await response.bytes();
  if (!response.ok) throw new Error(`${response.status} at ${url}`);
  timings.push([performance.timeOrigin + startedAt, performance.now() - startedAt]);
}
process.stdout.write(`${JSON.stringify(timings)}\n`);

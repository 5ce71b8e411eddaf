import { onSlowDisk } from './support/disk.ts';
import { quantile } from './support/numbers.ts';
import { atMost, benchmark } from './support/run.ts';
import { seedFolder } from './support/seed.ts';
import { startServer, tidings } from './support/server.ts';
import { type Asked, deliveryOf, timeWhile } from './support/waits.ts';

// How long readers wait while deliveries arrive on a disk where each sync takes 250 ms longer.

const DELAY_MS = 250;
const SECONDS = 10;
const DELIVERY_EVERY_MS = 50;

export const slowDisk = benchmark({
  goals: { p99: atMost(20, 'ms', 'list p99 while each sync takes 250 ms') },
  async measure(bench) {
    const { path, list, headers, pushes } = await seedFolder(bench.folder, 'data', { ascii: true });
    const server = await startServer(bench, await onSlowDisk(bench, tidings(path), DELAY_MS));
    const delivery = deliveryOf(server.url, pushes);
    const ms = (bench.isQuick ? SECONDS / 2 : SECONDS) * 1_000;
    const took = await timeWhile(bench, { url: server.url + list, headers }, () => deliverFor(delivery, ms));
    return { p99: { value: quantile(took, 0.99) } };
  },
});

/** Sends deliveries at a fixed rate, however long each takes. */
async function deliverFor({ url, headers, post }: Asked, ms: number): Promise<void> {
  if (post === undefined) return;
  const sent: Promise<unknown>[] = [];
  for (let at = 0; at < ms; at += DELIVERY_EVERY_MS) {
    const delivery = { ...headers, [post.countingHeader]: Bun.randomUUIDv7() };
    const response = fetch(url, { method: 'POST', headers: delivery, body: post.text });
    sent.push(response.then((answer) => answer.bytes()));
    await Bun.sleep(DELIVERY_EVERY_MS);
  }
  await Promise.all(sent);
}

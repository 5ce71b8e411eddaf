import { join } from 'node:path';
import { residentBytes } from './support/machine.ts';
import { median, ofRounds } from './support/numbers.ts';
import { atMost, benchmark } from './support/run.ts';
import { seedFolder } from './support/seed.ts';
import { run, startServer, tidingsBinary } from './support/server.ts';

// How soon the binary answers after it is started on a data folder that holds posts, and its memory after two seconds of
// rest, with the options that the container gives the engine.

const IDLE_MS = 2_000;
/** How many of the starts are followed to rest. */
const RESTS = 3;

export const start = benchmark({
  goals: {
    firstPing: atMost(150, 'ms', 'start to first `/ping`, binary'),
    idle: atMost(75, 'MB', 'memory of the binary at rest, as in the container'),
  },
  async measure(bench) {
    const { path } = await seedFolder(bench.folder, 'data', { ascii: false });
    const script = Bun.fileURLToPath(import.meta.resolve('../build.ts'));
    await run(bench, [process.execPath, script, '--outdir', bench.folder]);
    // Each start has another port. With another URL, too, it would look for the addresses of images in all posts.
    const url = ['--public-url', 'http://localhost:3000'];
    const program = tidingsBinary(join(bench.folder, 'tidings'), path, ...url);
    const pingMs: number[] = [];
    const idleMegabytes: number[] = [];
    // The first start finds the files on disk, all others in memory: it does not count.
    for (let count = 0; count <= (bench.isQuick ? 3 : 15); count++) {
      const startedAt = performance.now();
      const server = await startServer(bench, program);
      await fetch(`${server.url}/ping`).then((response) => response.text());
      if (count > 0) pingMs.push(performance.now() - startedAt);
      if (count > 0 && count <= RESTS) {
        await Bun.sleep(IDLE_MS);
        idleMegabytes.push(residentBytes(server.pid) / 1e6);
      }
      await server.stop();
    }
    const idle = median(idleMegabytes);
    return {
      firstPing: ofRounds(pingMs),
      idle: Number.isNaN(idle) ? 'only Linux tells it' : ofRounds(idleMegabytes),
    };
  },
});

import { ofRounds } from './support/numbers.ts';
import { atLeast, benchmark } from './support/run.ts';
import { seedFolder } from './support/seed.ts';
import { startServer, tidings } from './support/server.ts';
import { takeSample } from './support/wrk.ts';

// Lists on 16 connections, alone and during a flood of deliveries on 16 others.

const SECONDS = 2;

export const flood = benchmark({
  goals: { kept: atLeast(0.6, 'ratio', 'lists during a flood on 16 connections / without') },
  async measure(bench) {
    const { path, list, headers, pushes } = await seedFolder(bench.folder, 'data', { ascii: true });
    const server = await startServer(bench, tidings(path));
    const read = () => takeSample(bench, { server, load: { paths: [list], headers } }, SECONDS);
    const deliver = (seconds: number) => takeSample(bench, { server, load: pushes }, seconds);
    await deliver(1);
    const kept: number[] = [];
    for (let round = 0; round < (bench.isQuick ? 3 : 5); round++) {
      const alone = await read();
      const [beside] = await Promise.all([read(), deliver(SECONDS)]);
      kept.push(beside.requestsPerSecond / alone.requestsPerSecond);
    }
    return { kept: ofRounds(kept) };
  },
});

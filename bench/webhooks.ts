import { atLeast, benchmark } from './support/run.ts';
import { seedFolder } from './support/seed.ts';
import { peer, startServer, tidings } from './support/server.ts';
import { compare, measureRounds } from './support/wrk.ts';

// Acknowledged deliveries a second beside a receiver written by hand that makes one commit for each. Every delivery is a
// signed push with an id of its own; both sync the disk before they answer.

const connections = 64;

export const webhooks = benchmark({
  goals: { ratio: atLeast(2, 'ratio', 'deliveries on 64 connections / one commit each') },
  async measure(bench) {
    const own = await seedFolder(bench.folder, 'own');
    const other = await seedFolder(bench.folder, 'other');
    const server = await startServer(bench, tidings(own.path));
    const byHand = await startServer(bench, peer('raw-webhooks.ts', other.databaseFile, other.secret));
    const samples = await measureRounds(
      bench,
      {
        own: { server, load: own.pushes, connections },
        byHand: { server: byHand, load: other.pushes, connections },
      },
      { rounds: bench.isQuick ? 3 : 9 },
    );
    return { ratio: compare(samples.own, samples.byHand) };
  },
});

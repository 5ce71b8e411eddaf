import { progressBar } from '../../src/cli/output.ts';
import { cpuSecondsOfTree } from './process-figures.ts';
import type { CaseSamples, Sample } from './report.ts';
import { terminal } from './run.ts';
import type { Server } from './server.ts';
import { type Load, type LoadOptions, runLoad } from './wrk.ts';

/** One server in one case. */
export interface Run {
  name: string;
  server: Server;
  load: Load;
  /** How many requests are under way at once; 16 when absent. */
  connections?: number;
}

const WARM_UP_SECONDS = 1;

/**
 * Measures every run in each round. Servers of one case follow each other closely, so that a slow minute of the machine
 * hits all of them. Every other round goes backward. A run continues with the path after the last one of its round before.
 */
export async function measureRounds(
  runs: readonly Run[],
  { rounds, ...options }: LoadOptions & { rounds: number },
): Promise<CaseSamples[]> {
  const cases = casesOf(runs);
  const total = (rounds + 1) * runs.length;
  const sent = runs.map(() => 0);
  const bar = progressBar(terminal, 'measuring');
  try {
    // The first round is not counted: code is compiled, and the file is read into memory.
    for (let round = 0; round <= rounds; round++) {
      const inOrder = [...runs.entries()];
      for (const [at, [index, run]] of (round % 2 === 0 ? inOrder : inOrder.reverse()).entries()) {
        const seconds = round === 0 ? WARM_UP_SECONDS : options.seconds;
        const { requests, sample } = await takeSample(run, sent[index] ?? 0, { ...options, seconds });
        sent[index] = (sent[index] ?? 0) + requests;
        if (round > 0) cases.get(run.name)?.servers.get(run.server.name)?.push(sample);
        bar.show(round * runs.length + at + 1, total);
      }
    }
  } finally {
    bar.done();
  }
  return [...cases.values()];
}

/** Without samples yet, cases and servers in the order of the runs. */
function casesOf(runs: readonly Run[]): Map<string, CaseSamples> {
  const cases = new Map<string, CaseSamples>();
  for (const { name, server } of runs) {
    const each = cases.get(name) ?? { name, servers: new Map<string, Sample[]>() };
    each.servers.set(server.name, []);
    cases.set(name, each);
  }
  return cases;
}

async function takeSample(
  { server, load, connections }: Run,
  sent: number,
  options: LoadOptions,
): Promise<{ requests: number; sample: Sample }> {
  const before = cpuSecondsOfTree(server.pid);
  const { requests, seconds } = await runLoad(
    server.url,
    { ...load, first: sent % load.paths.length },
    { ...options, ...(connections !== undefined && { connections }) },
  );
  const after = cpuSecondsOfTree(server.pid);
  const cpuMicrosecondsPerRequest =
    before === null || after === null ? null : ((after - before) / requests) * 1e6;
  return { requests, sample: { requestsPerSecond: requests / seconds, cpuMicrosecondsPerRequest } };
}

import type { Deps } from '../deps.ts';
import { replaceAddresses } from '../media/address-store.ts';
import type { Job } from './jobs.ts';
import { listRuns } from './uptime-store.ts';

/** Texts of one commit, and the rest after it, so that requests hardly wait. */
const BATCH = 50;
const REST_MS = 20;

/** How many runs to search for former URLs: those of a month, of some processes. */
const MAX_RUNS = 500;

/** Brings the addresses of images in stored posts to the current `PUBLIC_URL`, once in each process that leads. */
export function mediaAddressJob(deps: Pick<Deps, 'db' | 'log' | 'publicUrl'>): Job {
  let isDone = false;
  return {
    name: 'image-addresses',
    every: 5_000,
    async run(signal) {
      if (isDone) return;
      const changed = await updateAddresses(deps, signal);
      if (signal.aborted) return;
      isDone = true;
      if (changed > 0) deps.log.info({ changed }, 'updated the URLs of images to the new PUBLIC_URL');
    },
  };
}

/** Returns how many texts it changed. */
export async function updateAddresses(
  { db, publicUrl }: Pick<Deps, 'db' | 'publicUrl'>,
  signal?: AbortSignal,
): Promise<number> {
  const current = publicUrl();
  const runs = await db.read((tx) => listRuns(tx, MAX_RUNS));
  const former = new Set(runs.map((run) => run.publicUrl).filter((url) => url !== current));
  let total = 0;
  for (const url of former) {
    const [from, to] = [`${url}/media/img_`, `${current}/media/img_`];
    // It would never end.
    if (to.includes(from)) continue;
    for (let changed = 1; changed > 0 && signal?.aborted !== true; total += changed) {
      changed = await db.write((tx) => replaceAddresses(tx, from, to, BATCH));
      await Bun.sleep(changed === 0 ? 0 : REST_MS);
    }
  }
  return total;
}

import { inCommits } from '../../db/commits.ts';
import type { ReadTx, WriteTx } from '../../db/engine.ts';
import type { Deps } from '../deps.ts';
import { type AddressPosition, FIRST_POSITION, replaceAddresses } from '../media/address-store.ts';
import type { Job } from './jobs.ts';
import { BEAT_MS } from './uptime.ts';
import { listRuns } from './uptime-store.ts';

/** Texts of a step. */
const STEP_TEXTS = 25;

/** How many runs to search for former URLs: those of a month, of some processes. */
const MAX_RUNS = 500;

/** A process that is silent for this long has ended, in milliseconds. */
const ENDED_MS = 3 * BEAT_MS;

type Needs = Pick<Deps, 'db' | 'clock' | 'log' | 'publicUrl'>;

/**
 * The work of a job. It brings the addresses of images in stored posts to the current `PUBLIC_URL` when this process begins
 * to lead, and again after a process with a former URL, which may have written meanwhile, has ended.
 */
export function addressWork(deps: Needs): Job['run'] {
  const { db, clock, log, publicUrl } = deps;
  let last: string | null = null;

  async function isDue(tx: ReadTx): Promise<boolean> {
    const at = last;
    if (at === null) return true;
    const ended = new Date(clock.now().getTime() - ENDED_MS).toISOString();
    const runs = await listRuns(tx, MAX_RUNS);
    return runs.some((run) => run.publicUrl !== publicUrl() && run.aliveAt > at && run.aliveAt < ended);
  }

  return async (signal) => {
    const at = clock.now().toISOString();
    if (!(await db.read(isDue))) return;
    const changed = await updateAddresses(deps, signal);
    if (signal.aborted) return;
    last = at;
    if (changed > 0) log.info({ changed }, 'updated the URLs of images to the new PUBLIC_URL');
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
    // Each pass would make it longer.
    if (to.includes(from)) continue;
    let position: AddressPosition | null = FIRST_POSITION;
    const replaceSome = async (tx: WriteTx, hasTime: () => boolean) => {
      let next = position;
      let changed = 0;
      do {
        if (next === null) break;
        const step = await replaceAddresses(tx, from, to, next, STEP_TEXTS);
        changed += step.changed;
        next = step.next;
      } while (hasTime());
      return { result: { changed, next }, hasMore: next !== null };
    };
    for await (const { changed, next } of inCommits(db, replaceSome, { signal })) {
      total += changed;
      position = next;
    }
  }
  return total;
}

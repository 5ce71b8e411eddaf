import type { Storage, WriteTx } from '../../../db/engine.ts';
import type { Deps } from '../../deps.ts';
import { AppError } from '../../lib/app-error.ts';
import type { OwnedPost } from '../model.ts';
import { recordVersion } from '../version-store.ts';
import * as store from '../write-store.ts';

/** An import whose process is silent for longer counts as abandoned. */
const STALE_MS = 30_000;

const POLL_MS = 100;

/** A server retries every 10 ms to get the write lock, so a shorter rest may fall between two attempts. */
const MIN_REST_MS = 15;
const MAX_REST_MS = 1_000;

type Needs = Pick<Deps, 'db' | 'clock' | 'ids' | 'log' | 'actor'>;

interface ImportSteps<Piece> {
  /** Saves the posts of one piece through `write`. */
  save(tx: WriteTx, piece: Piece, write: (post: OwnedPost) => Promise<void>): Promise<void>;
  /** Runs in the commit that publishes all pieces. */
  record(tx: WriteTx): Promise<void>;
}

/** Publishes all pieces at one moment, or none. Calls `onPiece` twice for each. Waits for another import. */
export async function importInPieces<Piece>(
  deps: Needs,
  organizationId: string,
  pieces: readonly Piece[],
  { save, record }: ImportSteps<Piece>,
  onPiece: (written: number, total: number) => void,
): Promise<void> {
  const { db, log } = deps;
  const id = await openImport(deps, organizationId);
  let count = 0;
  try {
    for (const [index, piece] of pieces.entries()) {
      await commitAndRest(db, async (tx) => {
        await requireStaging(tx, deps, id);
        await save(tx, piece, (post) => store.stagePost(tx, post, index));
      });
      onPiece(++count, 2 * pieces.length);
    }
    await db.write(async (tx) => {
      await requireStaging(tx, deps, id);
      await store.applyImport(tx, id);
      await record(tx);
    });
  } catch (error) {
    // If this fails too, such as on a full disk, the next import or the server does it.
    await discardImport(deps, id).catch((err) =>
      log.warn({ err }, 'a failed import has not been removed yet'),
    );
    throw error;
  }
  await finishImport(deps, id, () => onPiece(++count, 2 * pieces.length)).catch((err) =>
    log.warn({ err }, 'the import is done; the server will finish moving its posts'),
  );
}

/** Finishes an import that was killed after it published its posts; removes one that was killed before. */
export async function recoverImport(deps: Needs, signal?: AbortSignal): Promise<void> {
  const { db, clock, log } = deps;
  const current = await db.read(async (tx) => (await store.isImporting(tx)) && store.findImport(tx));
  if (current === false) return;
  if (current === null) return dropLeftovers(db, signal);
  // A time far ahead dates from before the clock was set back.
  if (Math.abs(clock.now().getTime() - current.beatAt) < STALE_MS) return;
  const { id, organizationId: organization, state } = current;
  log.warn({ import: id, organization }, `an import was interrupted: ${state}`);
  await (state === 'applying'
    ? finishImport(deps, id, () => undefined, signal)
    : discardImport(deps, id, signal));
}

async function openImport(deps: Needs, organizationId: string): Promise<string> {
  const { db, clock, ids } = deps;
  const id = ids.newId('import');
  const open = async (tx: WriteTx) => {
    if (await store.isImporting(tx)) return false;
    await store.insertImport(tx, { id, organizationId, state: 'staging', beatAt: clock.now().getTime() });
    return true;
  };
  while (!(await db.write(open))) {
    await recoverImport(deps);
    await Bun.sleep(POLL_MS);
  }
  return id;
}

async function requireStaging(tx: WriteTx, { clock }: Needs, id: string): Promise<void> {
  if (await store.beat(tx, { id, state: 'staging' }, clock.now().getTime())) return;
  const message = 'The import stalled, and another process removed it. Import the file again.';
  throw new AppError(409, message);
}

async function finishImport(
  deps: Needs,
  id: string,
  onPiece: () => void,
  signal?: AbortSignal,
): Promise<void> {
  const { db, clock } = deps;
  const state = 'applying';
  const moveOne = async (tx: WriteTx) => {
    const replaced = (before: OwnedPost, after: OwnedPost) =>
      recordVersion(tx, deps, { before, after, origin: 'import' });
    if (!(await store.beat(tx, { id, state }, clock.now().getTime()))) return false;
    const isMoved = (await store.movePiece(tx, replaced)) > 0;
    if (!isMoved) await store.deleteImport(tx, { id, state });
    return isMoved;
  };
  while (signal?.aborted !== true && (await commitAndRest(db, moveOne))) onPiece();
}

async function discardImport({ db }: Needs, id: string, signal?: AbortSignal): Promise<void> {
  // Delete its row first, so that its process stops if it is alive.
  await db.write((tx) => store.deleteImport(tx, { id, state: 'staging' }));
  await dropLeftovers(db, signal);
}

async function dropLeftovers(db: Storage, signal?: AbortSignal): Promise<void> {
  const dropOne = async (tx: WriteTx) =>
    (await store.findImport(tx)) === null && (await store.takePiece(tx)).length > 0;
  while (signal?.aborted !== true && (await commitAndRest(db, dropOne)));
}

/** Commits, and then leaves the write lock to others for as long as that took. */
async function commitAndRest<Result>(db: Storage, work: (tx: WriteTx) => Promise<Result>): Promise<Result> {
  const began = performance.now();
  const result = await db.write(work);
  await Bun.sleep(Math.min(Math.max(performance.now() - began, MIN_REST_MS), MAX_REST_MS));
  return result;
}

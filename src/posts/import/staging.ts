import type { Database } from '../../../db/client.ts';
import type { Deps } from '../../deps.ts';
import { AppError } from '../../lib/app-error.ts';
import {
  applyImport,
  beat,
  deleteImport,
  findImport,
  insertImport,
  isImporting,
  stagePost,
  takePiece,
} from '../staged-store.ts';
import { movePiece, type OwnedPost } from '../store.ts';

/** How long a process may be silent before its import counts as abandoned. */
const STALE_MS = 30_000;

/** How often to look whether another import is done. */
const POLL_MS = 100;

/** The server tries every 10 ms to get the write lock: a shorter rest may fall between two attempts. */
const MIN_REST_MS = 15;
const MAX_REST_MS = 1_000;

type StagingDeps = Pick<Deps, 'db' | 'clock' | 'ids' | 'log'>;

/**
 * Imports in pieces, each a commit of its own, and publishes all of them at one moment; nothing when it fails. `write`
 * saves the posts of one piece, synchronously. `onApply` is called in the commit that publishes them. `onPiece` is called
 * after each piece, which is written twice.
 * Waits for another import in progress.
 */
export async function importInPieces<Piece>(
  deps: StagingDeps,
  organizationId: string,
  pieces: readonly Piece[],
  write: (piece: Piece, save: (post: OwnedPost) => void) => void,
  onApply: () => void,
  onPiece: (written: number, total: number) => void,
): Promise<void> {
  const { db, log } = deps;
  const id = await openImport(deps, organizationId);
  let count = 0;
  try {
    for (const [index, piece] of pieces.entries()) {
      await commitAndRest(db, () => {
        requireStaging(deps, id);
        write(piece, (post) => stagePost(db, post, index));
      });
      onPiece(++count, 2 * pieces.length);
    }
    await db.write(() => {
      requireStaging(deps, id);
      applyImport(db, id);
      onApply();
    });
  } catch (error) {
    // Where that fails too, such as on a full disk, the next import or the server does it.
    await discardImport(deps, id).catch((err) =>
      log.warn({ err }, 'an import that failed is not removed yet'),
    );
    throw error;
  }
  await finishImport(deps, id, () => onPiece(++count, 2 * pieces.length)).catch((err) =>
    log.warn({ err }, 'the import is done, and the server moves its posts to their place later'),
  );
}

/** Finishes an import that was killed after all its posts were published; removes one that was killed before. */
export async function recoverImport(deps: StagingDeps, signal?: AbortSignal): Promise<void> {
  const { db, clock, log } = deps;
  if (!isImporting(db)) return;
  const found = findImport(db);
  if (found === null) return dropLeftovers(db, signal);
  // A time far ahead is from before the clock was set back.
  if (Math.abs(clock.now().getTime() - found.beatAt) < STALE_MS) return;
  log.warn(
    { import: found.id, organization: found.organizationId },
    `an import was interrupted: ${found.state}`,
  );
  if (found.state === 'applying') await finishImport(deps, found.id, () => undefined, signal);
  else await discardImport(deps, found.id, signal);
}

async function openImport(deps: StagingDeps, organizationId: string): Promise<string> {
  const { db, clock, ids } = deps;
  const id = ids.newId('import');
  const open = () => {
    if (isImporting(db)) return false;
    insertImport(db, { id, organizationId, state: 'staging', beatAt: clock.now().getTime() });
    return true;
  };
  while (!(await db.write(open))) {
    await recoverImport(deps);
    await Bun.sleep(POLL_MS);
  }
  return id;
}

function requireStaging({ db, clock }: StagingDeps, id: string): void {
  if (beat(db, { id, state: 'staging' }, clock.now().getTime())) return;
  throw new AppError(
    409,
    'The import stood still for too long, and another process removed it. Import the file again.',
  );
}

async function finishImport(
  { db, clock }: StagingDeps,
  id: string,
  onPiece: () => void,
  signal?: AbortSignal,
): Promise<void> {
  const state = 'applying';
  const moveOne = () => {
    if (!beat(db, { id, state }, clock.now().getTime())) return false;
    const moved = movePiece(db) > 0;
    if (!moved) deleteImport(db, { id, state });
    return moved;
  };
  while (signal?.aborted !== true && (await commitAndRest(db, moveOne))) onPiece();
}

async function discardImport({ db }: StagingDeps, id: string, signal?: AbortSignal): Promise<void> {
  // First of all, so that its process, if it lives, does not go on.
  await db.write(() => deleteImport(db, { id, state: 'staging' }));
  await dropLeftovers(db, signal);
}

async function dropLeftovers(db: Database, signal?: AbortSignal): Promise<void> {
  const dropOne = () => findImport(db) === null && takePiece(db).length > 0;
  while (signal?.aborted !== true && (await commitAndRest(db, dropOne)));
}

/** Commits, and then leaves the write lock to others for as long as that took. */
async function commitAndRest<Result>(db: Database, work: () => Result): Promise<Result> {
  const began = performance.now();
  const result = await db.write(work);
  await Bun.sleep(Math.min(Math.max(performance.now() - began, MIN_REST_MS), MAX_REST_MS));
  return result;
}

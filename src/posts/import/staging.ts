import { toSettle } from '../../../db/checked.ts';
import { inCommits, repeatStep } from '../../../db/commits.ts';
import type { Storage, WriteTx } from '../../../db/engine.ts';
import { changingPosts, IMPORTS } from '../../../db/order.ts';
import type { Deps } from '../../deps.ts';
import { AppError } from '../../lib/app-error.ts';
import type { OwnedPost } from '../model.ts';
import { recordVersion } from '../version-store.ts';
import * as store from '../write-store.ts';

/** An import whose process is silent for longer counts as abandoned. */
const STALE_MS = 30_000;

const POLL_MS = 100;

/** Its posts count with those of the organization. */
const orderOf = (organizationId: string) => changingPosts(organizationId, IMPORTS);

type Needs = Pick<Deps, 'db' | 'clock' | 'ids' | 'log' | 'actor'>;

interface ImportSteps<Piece> {
  /** Saves the posts of one piece through `write`. */
  save(tx: WriteTx, piece: Piece, write: (post: OwnedPost) => Promise<void>): Promise<void>;
  /** Runs in the commit that publishes all pieces. */
  record(tx: WriteTx): Promise<void>;
}

/** Publishes all pieces at one moment, or none. Reports each piece twice. Waits for another import. */
export async function importInPieces<Piece>(
  deps: Needs,
  organizationId: string,
  pieces: readonly Piece[],
  { save, record }: ImportSteps<Piece>,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  const { db, log } = deps;
  const id = await openImport(deps, organizationId);
  const total = 2 * pieces.length;
  try {
    let staged = 0;
    const stageSome = async (tx: WriteTx, hasTime: () => boolean) => {
      await requireStaging(tx, deps, id);
      let result = staged;
      do {
        const index = result++;
        await save(tx, pieces[index] as Piece, (post) => store.stagePost(tx, post, index));
      } while (result < pieces.length && hasTime());
      return { result, hasMore: result < pieces.length };
    };
    for await (staged of inCommits(db, stageSome, orderOf(organizationId))) onProgress(staged, total);
    await db.write(async (tx) => {
      await requireStaging(tx, deps, id);
      await store.applyImport(tx, id);
      await record(tx);
    }, orderOf(organizationId));
  } catch (error) {
    // If this fails too, such as on a full disk, the next import or the server does it.
    await discardImport(toSettle(deps), id).catch((err) =>
      log.warn({ err }, 'a failed import has not been removed yet'),
    );
    throw error;
  }
  await finishImport(toSettle(deps), { id, organizationId }, (moved) =>
    onProgress(pieces.length + moved, total),
  ).catch((err) => log.warn({ err }, 'the import is done; the server will finish moving its posts'));
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
    ? finishImport(deps, current, () => undefined, signal)
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
  while (!(await db.write(open, { key: IMPORTS }))) {
    await recoverImport(toSettle(deps));
    await Bun.sleep(POLL_MS);
  }
  return id;
}

async function requireStaging(tx: WriteTx, { clock }: Needs, id: string): Promise<void> {
  if (await store.beat(tx, { id, state: 'staging' }, clock.now().getTime())) return;
  const message = 'The import stalled, and another process removed it. Import the file again.';
  throw new AppError(409, message);
}

/** Moves all pieces of an applied import. `onMoved` gets the number of pieces. */
async function finishImport(
  deps: Needs,
  { id, organizationId }: { id: string; organizationId: string },
  onMoved: (pieces: number) => void,
  signal?: AbortSignal,
): Promise<void> {
  const { db, clock } = deps;
  const state = 'applying';
  const replaced = (tx: WriteTx) => (before: OwnedPost, after: OwnedPost) =>
    recordVersion(tx, deps, { before, after, origin: 'import' });
  const moveSome = async (tx: WriteTx, hasTime: () => boolean) => {
    if (!(await store.beat(tx, { id, state }, clock.now().getTime()))) return { result: 0, hasMore: false };
    const part = await repeatStep(hasTime, async () =>
      (await store.movePiece(tx, replaced(tx))) > 0 ? 1 : 0,
    );
    if (!part.hasMore) await store.deleteImport(tx, { id, state });
    return part;
  };
  let total = 0;
  for await (const moved of inCommits(db, moveSome, { signal, ...orderOf(organizationId) })) {
    total += moved;
    onMoved(total);
  }
}

async function discardImport({ db }: Needs, id: string, signal?: AbortSignal): Promise<void> {
  // Delete its row first, so that its process stops if it is alive.
  await db.write((tx) => store.deleteImport(tx, { id, state: 'staging' }), { key: IMPORTS });
  await dropLeftovers(db, signal);
}

async function dropLeftovers(db: Storage, signal?: AbortSignal): Promise<void> {
  const dropSome = async (tx: WriteTx, hasTime: () => boolean) =>
    (await store.findImport(tx)) === null
      ? repeatStep(hasTime, async () => (await store.takePiece(tx)).length)
      : { result: 0, hasMore: false };
  for await (const _ of inCommits(db, dropSome, { signal, key: IMPORTS }));
}

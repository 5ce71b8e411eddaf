import { and, asc, eq, inArray, isNull, lte, ne, or } from 'drizzle-orm';
import { ATTENTION, changing, OUTBOX, type ReadTx, type Storage, type WriteTx } from '../../db/engine.ts';
import { attention } from '../../db/schema/processes.ts';
import { notFound } from '../lib/app-error.ts';
import { tidings } from '../lib/build.ts';
import { isOfLive } from './organization-store.ts';
import { mayPublish, type Role } from './permission.ts';

// The list of what needs a person. `server/attention.ts` finds the items, and the leader keeps them here: each from the
// beginning of its cause to the end.

export const attentionKinds = [
  'deliveries_rejected',
  'no_deliveries',
  'webhook_failing',
  'polling_failing',
  'app_suspended',
  'token_refused',
  'token_expires',
  'silent',
  'webhook_off',
  'heartbeat_failed',
  'deliveries_lost',
  'trigger_failed',
  'hook_failed',
  'schedule_late',
  'roundup_late',
  'assistant_failing',
  'approval_waiting',
  'backup_failed',
  'disk_full',
  'clock_jumped',
  'checkpoint_failing',
  'upgrade_unfinished',
  'job_failing',
  'leader_missing',
  'server_stopped',
] as const;
export type AttentionKind = (typeof attentionKinds)[number];

export type AttentionItem = typeof attention.$inferSelect;

/** An item as it is found. `since`: absent or null where only the first look can tell. `count`: absent for one. */
export type FoundItem = Omit<AttentionItem, 'id' | 'since' | 'count' | 'mutedUntil'> & {
  since?: string | null;
  count?: number;
};

const idOf = ({ kind, subject }: Pick<AttentionItem, 'kind' | 'subject'>) => `${kind}:${subject}`;

/** An organization's items; those of the server too, and, unless it is false, the approvals that wait. */
interface Shown {
  organizationId: string;
  withServer: boolean;
  withApprovals?: boolean;
}

/** Members see the items of their organization, but for writers, who approve nothing; owners those of the server too. */
export const shownTo = ({ organization, role }: { organization: { id: string }; role: Role }): Shown => ({
  organizationId: organization.id,
  withServer: role === 'owner',
  withApprovals: mayPublish(role),
});

export async function listAttention(tx: ReadTx, of?: Shown): Promise<AttentionItem[]> {
  return tx
    .select()
    .from(attention)
    .where(and(of && isShownTo(of), isOfLive(attention.organizationId)))
    .orderBy(asc(attention.since), asc(attention.id))
    .all();
}

function isShownTo({ organizationId, withServer, withApprovals = true }: Shown) {
  const isMeant = withApprovals ? undefined : ne(attention.kind, 'approval_waiting');
  const isOwn = and(eq(attention.organizationId, organizationId), isMeant);
  return withServer ? or(isOwn, isNull(attention.organizationId)) : isOwn;
}

export async function countAttention(tx: ReadTx, of: Shown, now: Date): Promise<number> {
  const isHeard = or(isNull(attention.mutedUntil), lte(attention.mutedUntil, now.toISOString()));
  return tx.$count(attention, and(isShownTo(of), isHeard));
}

/** The items as they stand now: what was known before keeps its beginning and its mute. */
export function asItems(
  found: readonly FoundItem[],
  known: readonly AttentionItem[],
  now: Date,
): AttentionItem[] {
  const before = new Map(known.map((item) => [item.id, item]));
  const items = found.map((item) => {
    const id = idOf(item);
    const old = before.get(id);
    const since = [item.since, old?.since].filter((each) => each != null).sort()[0] ?? now.toISOString();
    return { id, count: 1, ...item, since, mutedUntil: old?.mutedUntil ?? null };
  });
  const place = ({ since, id }: AttentionItem) => `${since} ${id}`;
  return items.sort((one, other) => (place(one) < place(other) ? -1 : 1));
}

export const isMuted = ({ mutedUntil }: AttentionItem, now: Date): boolean =>
  mutedUntil !== null && mutedUntil > now.toISOString();

export interface Changes {
  begun: AttentionItem[];
  ended: AttentionItem[];
}

/** Brings the list up to date. `tell` runs in the same transaction. Returns the items that began and those that ended. */
export async function keepAttention(
  db: Storage,
  found: readonly FoundItem[],
  now: Date,
  tell: (tx: WriteTx, changes: Changes) => Promise<void>,
): Promise<Changes> {
  const last = await db.read((tx) => listAttention(tx));
  if (Bun.deepEquals(asItems(found, last, now), last)) return { begun: [], ended: [] };
  // Somebody may have muted an item since.
  return db.write(
    async (tx) => {
      const known = await listAttention(tx);
      const items = asItems(found, known, now);
      const ids = new Set(items.map(({ id }) => id));
      const ended = known.filter(({ id }) => !ids.has(id));
      const before = new Map(known.map((item) => [item.id, item]));
      const gone = ended.map(({ id }) => id);
      if (gone.length > 0) await tx.delete(attention).where(inArray(attention.id, gone)).run();
      for (const item of items) {
        if (Bun.deepEquals(item, before.get(item.id))) continue;
        await tx.insert(attention).values(item).onConflictDoUpdate({ target: attention.id, set: item }).run();
      }
      const changes = { begun: items.filter(({ id }) => !before.has(id)), ended };
      await tell(tx, changes);
      return changes;
    },
    changing(ATTENTION, OUTBOX),
  );
}

/** Keeps an item unless it is there, and runs `tell` in the same transaction. Returns whether it was new. */
export async function beginAttention(
  db: Pick<Storage, 'write'>,
  found: FoundItem,
  now: Date,
  tell: (tx: WriteTx, begun: AttentionItem[]) => Promise<void>,
): Promise<boolean> {
  return db.write(
    async (tx) => {
      const begun = await tx
        .insert(attention)
        .values(asItems([found], [], now))
        .onConflictDoNothing()
        .returning()
        .all();
      if (begun.length > 0) await tell(tx, begun);
      return begun.length > 0;
    },
    changing(ATTENTION, OUTBOX),
  );
}

/** `quiet` runs in the same transaction. An item ends with its cause all the same. Throws `AppError` 404. */
export async function muteAttention(
  db: Pick<Storage, 'write'>,
  of: Shown,
  id: string,
  mutedUntil: string | null,
  quiet: (tx: WriteTx, id: string) => Promise<void>,
): Promise<void> {
  const isIt = and(eq(attention.id, id), isShownTo(of));
  await db.write(
    async (tx) => {
      const muted = await tx.update(attention).set({ mutedUntil }).where(isIt).returning().all();
      if (muted.length === 0) throw notFound('item', id);
      if (mutedUntil !== null) await quiet(tx, id);
    },
    changing(ATTENTION, OUTBOX),
  );
}

export type Find = (tx: ReadTx, now: Date) => Promise<FoundItem[]>;

/** Items of one kind. Beyond that, a person has enough to do. */
export const MAX_ITEMS = 100;

export const NO_DRAFTS = 'Changes there make no drafts, so readers do not learn of them.';
export const READ_LATE = 'Tidings reads the changes instead, so drafts come later than with a webhook.';

export const ofIntegration = (organizationId: string, subject: string) => ({
  organizationId,
  subject,
  action: `${tidings} integration doctor ${subject}`,
  path: `integrations/${subject}`,
});

export const placesOf = ({ place, places }: { place: string | null; places: number }) =>
  places > 1 ? `${place} and ${places - 1} more` : place;

/** Providers and the signature doctor explain at length. */
export const firstSentence = (text: string) => text.replace(/\. .*$/s, '').replace(/\.$/, '');

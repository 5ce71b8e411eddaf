import { Type } from '@sinclair/typebox';
import { eq } from 'drizzle-orm';
import { changingPosts, type ReadTx, type WriteTx } from '../../../db/engine.ts';
import { assistants, wordings } from '../../../db/schema/triggers.ts';
import { type ChangeOf, changeFor } from '../../lib/app-error.ts';
import { requireValid } from '../../lib/validation.ts';
import { type AuditDeps, recordAudit } from '../../people/audit.ts';
import type { Deps } from '../../people/deps.ts';

// The instructions of an organization to the assistant, its budget, and the queue of drafts to word.

const Changes = Type.Object({
  voice: Type.String({ maxLength: 2_000 }),
  examples: Type.String({
    maxLength: 1_500,
    pattern: '^[^\\n]*(?:\\n[^\\n]*){0,2}$',
    errorMessage: 'must be at most three lines of 1,500 characters together',
  }),
  includesPrivate: Type.Boolean(),
  dailyRequests: Type.Integer({ minimum: 0, maximum: 100_000 }),
  dailyBytes: Type.Integer({ minimum: 0, maximum: 1_000_000_000 }),
});

const byDefault = {
  ...{ voice: '', examples: '', includesPrivate: false, dailyRequests: 200, dailyBytes: 2_000_000 },
  ...{ day: '', requests: 0, bytes: 0 },
};

export type Assistant = typeof assistants.$inferSelect;
export type Editable = Pick<
  Assistant,
  'voice' | 'examples' | 'includesPrivate' | 'dailyRequests' | 'dailyBytes'
>;

export async function readAssistant(tx: ReadTx, organizationId: string): Promise<Assistant> {
  const stored = await tx
    .select()
    .from(assistants)
    .where(eq(assistants.organizationId, organizationId))
    .get();
  return stored ?? { organizationId, ...byDefault };
}

async function saveAssistant(tx: WriteTx, row: Assistant): Promise<void> {
  const conflict = { target: assistants.organizationId, set: row };
  await tx.insert(assistants).values(row).onConflictDoUpdate(conflict).run();
}

/** Throws `AppError` 400 for an invalid field. */
export function changeAssistant(
  deps: AuditDeps,
  organizationId: string,
  input: ChangeOf<Editable, Partial<Editable>>,
): Promise<void> {
  return deps.db.write(async (tx) => {
    const before = await readAssistant(tx, organizationId);
    const after = { ...before, ...requireValid(Type.Partial(Changes), changeFor(before, input)) };
    const names: Record<keyof Editable, string> = {
      voice: 'voice',
      examples: 'examples',
      includesPrivate: `${after.includesPrivate ? 'allowed' : 'excluded'} private repositories`,
      dailyRequests: 'requests a day',
      dailyBytes: 'bytes a day',
    };
    const changed = (Object.keys(names) as (keyof Editable)[]).filter((name) => before[name] !== after[name]);
    if (changed.length === 0) return;
    await saveAssistant(tx, after);
    await recordAudit(tx, deps, {
      ...{
        organizationId,
        action: 'assistant.changed',
        target: { type: 'organization', id: organizationId },
      },
      summary: `changed the assistant: ${changed.map((name) => names[name]).join(', ')}`,
    });
  }, changingPosts(organizationId));
}

/** The row, with what is used on the present day in UTC. */
export function asOfToday(row: Assistant, now: Date): Assistant {
  const day = now.toISOString().slice(0, 10);
  return row.day === day ? row : { ...row, day, requests: 0, bytes: 0 };
}

/** Counts what is sent and received today. False, and nothing, when a request is beyond the budget. */
export function spend(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  organizationId: string,
  use: { requests: number; bytes: number },
): Promise<boolean> {
  return db.write(async (tx) => {
    const row = asOfToday(await readAssistant(tx, organizationId), clock.now());
    const [requests, bytes] = [row.requests + use.requests, row.bytes + use.bytes];
    if (use.requests > 0 && (requests > row.dailyRequests || bytes > row.dailyBytes)) return false;
    await saveAssistant(tx, { ...row, requests, bytes });
    return true;
  }, changingPosts(organizationId));
}

export type Wording = typeof wordings.$inferSelect;

/** How long a trigger's draft rests before it is worded, in milliseconds: a push may bring several events. */
const REST_MS = 15_000;

export async function findWording(tx: ReadTx, postId: string): Promise<Wording | null> {
  return (await tx.select().from(wordings).where(eq(wordings.postId, postId)).get()) ?? null;
}

/** Queues a draft. Lines that were asked about stay asked, unless a person, `actorName`, asks again. */
export async function queueWording(
  tx: WriteTx,
  { clock }: Pick<Deps, 'clock'>,
  { actorName, ...post }: Pick<Wording, 'postId' | 'organizationId' | 'actorName'>,
): Promise<void> {
  const now = clock.now();
  const dueAt = now.getTime() + (actorName === null ? REST_MS : 0);
  const state = { actorName, dueAt, attempts: 0, error: null, askedAt: now.toISOString() };
  const row = { ...post, ...state, status: 'queued' as const, lines: [] };
  const { lines, ...kept } = row;
  const set = actorName === null ? kept : row;
  await tx.insert(wordings).values(row).onConflictDoUpdate({ target: wordings.postId, set }).run();
}

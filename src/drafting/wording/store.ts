import { Type } from '@sinclair/typebox';
import { eq } from 'drizzle-orm';
import { changingPosts, type ReadTx, type WriteTx } from '../../../db/engine.ts';
import { assistants, wordings } from '../../../db/schema/triggers.ts';
import { type ChangeOf, changeFor } from '../../lib/app-error.ts';
import { requireValid } from '../../lib/validation.ts';
import { type AuditDeps, recordAudit } from '../../people/audit.ts';
import type { Deps } from '../../people/deps.ts';

// What an organization tells the assistant, its budget, and the queue of drafts to word.

const AssistantSettings = Type.Object({
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
  voice: '',
  examples: '',
  includesPrivate: false,
  dailyRequests: 200,
  dailyBytes: 2_000_000,
};
const unused = { day: '', requests: 0, bytes: 0 };

export type Assistant = typeof assistants.$inferSelect;
type Editable = typeof byDefault;

export async function readAssistant(tx: ReadTx, organizationId: string): Promise<Assistant> {
  const isIt = eq(assistants.organizationId, organizationId);
  return (
    (await tx.select().from(assistants).where(isIt).get()) ?? { organizationId, ...byDefault, ...unused }
  );
}

async function saveAssistant(tx: WriteTx, row: Assistant): Promise<void> {
  await tx
    .insert(assistants)
    .values(row)
    .onConflictDoUpdate({ target: assistants.organizationId, set: row })
    .run();
}

const fieldNames: Record<keyof Editable, string> = {
  voice: 'voice',
  examples: 'examples',
  includesPrivate: 'private repositories',
  dailyRequests: 'requests a day',
  dailyBytes: 'bytes a day',
};

/** Throws `AppError` 400 for an invalid field. */
export function changeAssistant(
  deps: AuditDeps,
  organizationId: string,
  input: ChangeOf<Editable, Partial<Editable>>,
): Promise<void> {
  return deps.db.write(async (tx) => {
    const before = await readAssistant(tx, organizationId);
    const after = { ...before, ...requireValid(Type.Partial(AssistantSettings), changeFor(before, input)) };
    const changed = (Object.keys(fieldNames) as (keyof Editable)[]).filter(
      (field) => before[field] !== after[field],
    );
    if (changed.length === 0) return;
    await saveAssistant(tx, after);
    const about = changed.map((field) =>
      field === 'includesPrivate'
        ? `${after.includesPrivate ? 'allowed' : 'excluded'} private repositories`
        : fieldNames[field],
    );
    const target = { type: 'organization', id: organizationId };
    await recordAudit(tx, deps, {
      organizationId,
      action: 'assistant.changed',
      target,
      summary: `changed the assistant: ${about.join(', ')}`,
    });
  }, changingPosts(organizationId));
}

export function usedToday(row: Assistant, now: Date): Pick<Assistant, 'day' | 'requests' | 'bytes'> {
  const { requests, bytes } = row;
  const day = now.toISOString().slice(0, 10);
  return row.day === day ? { day, requests, bytes } : { day, requests: 0, bytes: 0 };
}

/** Counts what is sent and received today. False when a request is beyond the budget. */
export function spend(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  organizationId: string,
  { requests, bytes }: { requests: number; bytes: number },
): Promise<boolean> {
  return db.write(async (tx) => {
    const row = await readAssistant(tx, organizationId);
    const used = usedToday(row, clock.now());
    const next = { ...row, ...used, requests: used.requests + requests, bytes: used.bytes + bytes };
    if (requests > 0 && (next.requests > row.dailyRequests || next.bytes > row.dailyBytes)) return false;
    await saveAssistant(tx, next);
    return true;
  }, changingPosts(organizationId));
}

// The queue.

export type Wording = typeof wordings.$inferSelect;

/** How long a trigger's draft rests before it is worded, in milliseconds: a push may bring several events. */
const REST_MS = 15_000;

/** Requests that fail in a row before a person should know. */
export const TROUBLED_ATTEMPTS = 3;

export async function findWording(tx: ReadTx, postId: string): Promise<Wording | null> {
  return (await tx.select().from(wordings).where(eq(wordings.postId, postId)).get()) ?? null;
}

/** Queues a draft that a trigger wrote. Lines that were asked about stay asked. */
export async function queueWording(
  tx: WriteTx,
  { clock }: Pick<Deps, 'clock'>,
  { postId, organizationId, actorName }: Pick<Wording, 'postId' | 'organizationId' | 'actorName'>,
): Promise<void> {
  const now = clock.now();
  const dueAt = now.getTime() + (actorName === null ? REST_MS : 0);
  const state = {
    status: 'queued',
    actorName,
    attempts: 0,
    dueAt,
    error: null,
    askedAt: now.toISOString(),
  } as const;
  const row = { postId, organizationId, lines: [], ...state };
  const set = actorName === null ? state : { ...state, lines: row.lines };
  await tx.insert(wordings).values(row).onConflictDoUpdate({ target: wordings.postId, set }).run();
}

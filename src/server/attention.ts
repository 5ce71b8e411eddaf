import { and, asc, count, desc, eq, gt, gte, isNotNull, lte, max, min, or, sql } from 'drizzle-orm';
import type { ReadTx } from '../../db/engine.ts';
import { deliveries, hooks, integrations, polls, repositories } from '../../db/schema/integrations.ts';
import { postSchedules, posts } from '../../db/schema/posts.ts';
import { hookAttempts, hookMessages, rebuildHooks } from '../../db/schema/public.ts';
import { roundups, triggerRuns, triggers, wordings } from '../../db/schema/triggers.ts';
import { getIntegration } from '../integrations/store.ts';
import { integrationName } from '../integrations/words.ts';
import { tidings } from '../lib/build.ts';
import { count as counted } from '../lib/text.ts';
import { DAY_MS } from '../lib/time.ts';
import {
  type AttentionKind,
  asItems,
  type Find,
  type FoundItem,
  firstSentence,
  keepAttention,
  listAttention,
  MAX_ITEMS,
  NO_DRAFTS,
  ofIntegration,
  placesOf,
} from '../people/attention.ts';
import type { Deps } from '../people/deps.ts';
import { isOfLive } from '../people/organization-store.ts';
import { listWaiting } from '../posts/approval-rule.ts';
import { queueNotices, queueSummaries } from '../readers/hooks/notices.ts';
import {
  findExpiringTokens,
  findFailedHeartbeats,
  findLost,
  findRefusedTokens,
  findSilent,
  findSuspendedApps,
  findSwitchedOff,
} from './attention-access.ts';
import {
  findKept,
  findMissingLeader,
  findOnMachine,
  findStoppedServer,
  findUnswept,
  LEADER_KINDS,
  type MachineNeeds,
  type MachineSettings,
} from './attention-machine.ts';
import type { Job } from './jobs.ts';

// Finds what needs a person: the one source of the dashboard's list, `tidings attention`, `doctor`, and the metrics. Each cause
// is an item as long as it lasts, read from what it left in the database.

/** Entries of the log that are counted for an integration. */
const MAX_COUNTED = 200;

/** Rounds of polling that fail in a row before it is no accident. */
const MAX_FAILED_ROUNDS = 3;

/** A webhook should have delivered something a day after it was made, in milliseconds; the log forgets within a week. */
const QUIET_MS = DAY_MS;
const FORGOTTEN_MS = 7 * DAY_MS;

/** Attempts of a hook that tells what needs attention before its failure is no accident: a minute. */
const MESSENGER_ATTEMPTS = 3;

/** A draft is published, and a roundup made, within seconds of its time, in milliseconds. */
const LATE_MS = 120_000;

/** Of an integration: the status of its newest delivery that a webhook brought. */
const newestStatus = sql`(select ${deliveries.status} from ${deliveries} where ${deliveries.integrationId} = ${integrations.id}
  and ${deliveries.isPolled} = 0 order by ${deliveries.createdAt} desc, ${deliveries.id} desc limit 1)`;

const { id, organizationId, enabled, isPolled, createdAt } = integrations;

async function findRejected(tx: ReadTx): Promise<FoundItem[]> {
  const troubled = await tx
    .select({ id, organizationId })
    .from(integrations)
    .where(and(eq(enabled, true), isOfLive(organizationId), sql`${newestStatus} in ('rejected', 'failed')`))
    .limit(MAX_ITEMS)
    .all();
  return Array.fromAsync(troubled, async (integration) => {
    const name = integrationName(await getIntegration(tx, integration.id));
    const { status, count: times, createdAt: at, reason } = deliveries;
    const newest = await tx
      .select({ status, times, at, reason })
      .from(deliveries)
      .where(and(eq(deliveries.integrationId, integration.id), eq(deliveries.isPolled, false)))
      .orderBy(desc(deliveries.createdAt), desc(deliveries.id))
      .limit(MAX_COUNTED)
      .all();
    const taken = newest.findIndex((each) => each.status !== 'rejected' && each.status !== 'failed');
    const refused = taken === -1 ? newest : newest.slice(0, taken);
    const total = refused.reduce((sum, each) => sum + each.times, 0);
    return {
      ...ofIntegration(integration.organizationId, integration.id),
      kind: 'deliveries_rejected',
      since: refused.at(-1)?.at ?? null,
      count: total,
      message: `${name}: ${total === 1 ? 'the last delivery was' : `the last ${total} deliveries were`} not accepted (${firstSentence(refused[0]?.reason ?? 'rejected')})`,
      effect: NO_DRAFTS,
    };
  });
}

async function findNoDeliveries(tx: ReadTx, now: Date): Promise<FoundItem[]> {
  const before = (ms: number) => new Date(now.getTime() - ms).toISOString();
  const quiet = await tx
    .select({ id, organizationId, createdAt })
    .from(integrations)
    .where(
      and(
        eq(enabled, true),
        eq(isPolled, false),
        isOfLive(organizationId),
        lte(createdAt, before(QUIET_MS)),
        gt(createdAt, before(FORGOTTEN_MS)),
        sql`${newestStatus} is null`,
      ),
    )
    .limit(MAX_ITEMS)
    .all();
  return Array.fromAsync(quiet, async (integration) => ({
    ...ofIntegration(integration.organizationId, integration.id),
    kind: 'no_deliveries',
    since: integration.createdAt,
    message: `${integrationName(await getIntegration(tx, integration.id))}: no delivery has arrived yet`,
    effect: NO_DRAFTS,
  }));
}

const findFailingWebhooks: Find = async (tx) => {
  const { problem, placeName, attempts } = hooks;
  const rows = await tx
    .select({
      ...{ id, organizationId, places: count(), place: min(placeName) },
      ...{ problem: max(problem), attempts: max(attempts) },
    })
    .from(hooks)
    .innerJoin(integrations, eq(id, hooks.integrationId))
    .where(and(isNotNull(problem), eq(enabled, true), isOfLive(organizationId)))
    .groupBy(id, organizationId)
    .limit(MAX_ITEMS)
    .all();
  return rows.map((row) => ({
    ...ofIntegration(row.organizationId, row.id),
    kind: 'webhook_failing',
    count: Math.max(1, row.attempts ?? 1),
    message: `${placesOf(row)}: Tidings could not set up the webhook (${firstSentence(row.problem ?? '')})`,
    effect: 'Deliveries may not come, or be rejected. Their changes make no drafts.',
    action: `${tidings} integration repair ${row.id}`,
  }));
};

const findFailingPolls: Find = async (tx) => {
  const { problem, attempts, polledAt } = polls;
  const rows = await tx
    .select({
      ...{ id, organizationId, places: count(), place: min(repositories.fullName) },
      ...{ problem: max(problem), polledAt: min(polledAt), rounds: max(attempts) },
    })
    .from(polls)
    .innerJoin(integrations, eq(id, polls.integrationId))
    .innerJoin(repositories, eq(repositories.id, polls.repositoryId))
    .where(
      and(
        isNotNull(problem),
        sql`${attempts} >= ${MAX_FAILED_ROUNDS}`,
        eq(enabled, true),
        eq(integrations.isPolled, true),
        isOfLive(organizationId),
      ),
    )
    .groupBy(id, organizationId)
    .limit(MAX_ITEMS)
    .all();
  return rows.map((row) => ({
    ...ofIntegration(row.organizationId, row.id),
    kind: 'polling_failing',
    since: row.polledAt,
    count: row.rounds ?? 1,
    message: `${placesOf(row)}: polling fails (${firstSentence(row.problem ?? '')})`,
    effect: 'Changes there make no drafts until polling works again. None is lost.',
    action: `${tidings} integration poll ${row.id}`,
  }));
};

const findFailedTriggers: Find = async (tx) => {
  const rows = await tx
    .select({
      ...{ id, organizationId, triggerId: triggers.id, runs: count() },
      ...{ since: min(triggerRuns.queuedAt), error: max(triggerRuns.error) },
    })
    .from(triggerRuns)
    .innerJoin(triggers, eq(triggers.id, triggerRuns.triggerId))
    .innerJoin(integrations, eq(id, triggers.integrationId))
    .where(and(eq(triggerRuns.status, 'failed'), isOfLive(organizationId)))
    .groupBy(triggers.id, id, organizationId)
    .limit(MAX_ITEMS)
    .all();
  return Array.fromAsync(rows, async (row) => ({
    organizationId: row.organizationId,
    kind: 'trigger_failed',
    subject: row.triggerId,
    since: row.since,
    count: row.runs,
    message: `${integrationName(await getIntegration(tx, row.id))}: ${counted(row.runs, 'draft')} failed after several attempts${row.error === null ? '' : ` (${row.error})`}`,
    effect: 'These drafts are missing until somebody retries them.',
    action: `${tidings} trigger retry ${row.triggerId}`,
    path: `integrations/${row.id}/triggers/${row.triggerId}`,
  }));
};

const newestResponse = sql`(select ${hookAttempts.statusCode} from ${hookAttempts}
  inner join ${hookMessages} as own on own.id = ${hookAttempts.messageId} where own.hook_id = ${rebuildHooks.id}
  order by ${hookAttempts.startedAt} desc limit 1)`;

/**
 * Hooks with a message since the last success that was given up, or that has failed for a day: after a few attempts
 * where it tells what needs attention. A disabled one only if its receiver was gone.
 */
const findFailedHooks: Find = async (tx, now) => {
  const { createdAt: at, state, attempts, hookId } = hookMessages;
  const { id: hook, organizationId: owner, name, about, isEnabled } = rebuildHooks;
  const dayAgo = new Date(now.getTime() - DAY_MS).toISOString();
  const isFailing = sql`(${state} = 'failed' or ${state} = 'queued' and (${attempts} > 0 and ${at} <= ${dayAgo}
    or ${about} <> 'posts' and ${attempts} >= ${MESSENGER_ATTEMPTS}))`;
  const lastSent = sql<string>`coalesce(max(case when ${state} = 'sent' then ${at} end), '')`;
  const rows = await tx
    .select({ id: hook, organizationId: owner, name, about, isEnabled, lastSent })
    .from(hookMessages)
    .innerJoin(rebuildHooks, eq(hook, hookId))
    .where(and(or(eq(isEnabled, true), sql`${newestResponse} = 410`), isOfLive(owner)))
    .groupBy(hook, owner, name, about, isEnabled)
    .having(sql`max(case when ${isFailing} then ${at} end) > ${lastSent}`)
    .limit(MAX_ITEMS)
    .all();
  return Array.fromAsync(rows, async (row) => {
    const failing = await tx
      .select({ messages: count(), since: min(at) })
      .from(hookMessages)
      .innerJoin(rebuildHooks, eq(hook, hookId))
      .where(and(eq(hookId, row.id), gt(at, row.lastSent), isFailing))
      .get();
    const messages = failing?.messages ?? 1;
    return {
      organizationId: row.organizationId,
      kind: 'hook_failed',
      subject: row.id,
      since: failing?.since ?? null,
      count: messages,
      message: `The hook “${row.name}” fails: ${counted(messages, 'message')} could not be sent${row.isEnabled ? '' : ', and Tidings disabled it because the receiver responded 410 Gone'}`,
      effect:
        row.about === 'posts'
          ? 'Your site or channel does not know about these changes.'
          : 'Nobody is told what needs attention.',
      action: `${tidings} hook messages ${row.id}`,
      path: `publishing/hooks/${row.id}`,
    };
  });
};

const findLateSchedules: Find = async (tx, now) => {
  const { publishAt: at } = postSchedules;
  const { id: post, organizationId: owner, title, status } = posts;
  const rows = await tx
    .select({ id: post, organizationId: owner, title, at })
    .from(postSchedules)
    .innerJoin(posts, eq(post, postSchedules.postId))
    .where(and(eq(status, 'draft'), lte(at, now.getTime() - LATE_MS), isOfLive(owner)))
    .orderBy(asc(at))
    .limit(MAX_ITEMS)
    .all();
  return rows.map((row) => ({
    organizationId: row.organizationId,
    kind: 'schedule_late',
    subject: row.id,
    since: new Date(row.at).toISOString(),
    message: `“${row.title}” was not published at its time`,
    effect: 'Readers do not see the post.',
    action: `${tidings} post publish ${row.id}`,
    path: `posts/${row.id}`,
  }));
};

const findLateRoundups: Find = async (tx, now) => {
  const { enabled, nextAt } = roundups;
  const rows = await tx
    .select({ id: roundups.id, organizationId: roundups.organizationId, name: roundups.name, nextAt })
    .from(roundups)
    .where(and(eq(enabled, true), lte(nextAt, now.getTime() - LATE_MS), isOfLive(roundups.organizationId)))
    .orderBy(asc(nextAt))
    .limit(MAX_ITEMS)
    .all();
  return rows.map((row) => ({
    organizationId: row.organizationId,
    kind: 'roundup_late',
    subject: row.id,
    since: new Date(row.nextAt).toISOString(),
    message: `The roundup “${row.name}” was not made at its time`,
    effect: 'Its draft is missing. No change is lost: they wait for it.',
    action: `${tidings} roundup now ${row.id}`,
    path: `triggers/roundups/${row.id}`,
  }));
};

/** Drafts that wait for an assistant which did not answer three times in a row. Once it is switched off, they are no longer due. */
const findFailingAssistants: Find = async (tx, now) => {
  const { organizationId: owner, error, askedAt, attempts, status, dueAt } = wordings;
  const rows = await tx
    .select({ owner, drafts: count(), since: min(askedAt), error: max(error) })
    .from(wordings)
    .where(and(eq(status, 'queued'), gte(attempts, 3), gt(dueAt, now.getTime() - DAY_MS), isOfLive(owner)))
    .groupBy(owner)
    .limit(MAX_ITEMS)
    .all();
  return rows.map((row) => ({
    organizationId: row.owner,
    kind: 'assistant_failing',
    subject: row.owner,
    since: row.since,
    count: row.drafts,
    message: firstSentence(row.error ?? 'The assistant gave no answer'),
    effect: 'No wording is suggested. Drafts are as they are without it.',
    action: 'Check AI_URL, AI_MODEL and AI_KEY, and that the server answers',
    path: 'settings/assistant',
  }));
};

const findWaitingApprovals: Find = async (tx) => {
  const rows = await listWaiting(tx, null, MAX_ITEMS);
  return rows.map((row) => ({
    organizationId: row.organizationId,
    kind: 'approval_waiting',
    subject: row.id,
    since: row.askedAt,
    message: `${row.isChange ? 'A change of ' : ''}“${row.title}” waits for approval, as ${row.askedBy} asked`,
    effect: row.isChange ? 'Readers see the text before.' : 'Readers do not see the post.',
    action: `${tidings} post show ${row.id}`,
    path: `posts/${row.id}/approval`,
  }));
};

const finders = {
  deliveries_rejected: findRejected,
  no_deliveries: findNoDeliveries,
  webhook_failing: findFailingWebhooks,
  polling_failing: findFailingPolls,
  app_suspended: findSuspendedApps,
  token_refused: findRefusedTokens,
  token_expires: findExpiringTokens,
  silent: findSilent,
  webhook_off: findSwitchedOff,
  heartbeat_failed: findFailedHeartbeats,
  deliveries_lost: findLost,
  trigger_failed: findFailedTriggers,
  hook_failed: findFailedHooks,
  schedule_late: findLateSchedules,
  roundup_late: findLateRoundups,
  assistant_failing: findFailingAssistants,
  approval_waiting: findWaitingApprovals,
  checkpoint_failing: findKept('checkpoint_failing'),
  job_failing: findKept('job_failing'),
  leader_missing: findMissingLeader,
  server_stopped: findStoppedServer,
} satisfies Partial<Record<AttentionKind, Find>>;
export type KindInDatabase = keyof typeof finders;
export const kindsInDatabase = Object.keys(finders) as KindInDatabase[];

/** The items that the database tells of, in one snapshot. */
export async function findInDatabase(
  tx: ReadTx,
  now: Date,
  kinds: readonly KindInDatabase[] = kindsInDatabase,
): Promise<FoundItem[]> {
  return (await Array.fromAsync(kinds, (kind) => finders[kind](tx, now))).flat();
}

type Needs = MachineNeeds & Pick<Deps, 'db'>;

/** Everything that needs a person now. */
async function findAttention(deps: Needs, config: MachineSettings): Promise<FoundItem[]> {
  // The leader counts these itself: what it kept would never end.
  const isLeader = deps.metrics !== undefined;
  const own: readonly AttentionKind[] = isLeader ? [...LEADER_KINDS, 'leader_missing'] : [];
  const kinds = kindsInDatabase.filter((kind) => !own.includes(kind));
  const now = deps.clock.now();
  const inDatabase = await deps.db.read(async (tx) => [
    ...(isLeader ? await findUnswept(tx, now) : []),
    ...(await findInDatabase(tx, now, kinds)),
  ]);
  return [...(await findOnMachine(deps, config)), ...inDatabase];
}

/** The items with their beginnings, whether a server runs or not. */
export async function listNow(deps: Needs, config: MachineSettings) {
  const found = await findAttention(deps, config);
  const known = await deps.db.read((tx) => listAttention(tx));
  return asItems(found, known, deps.clock.now());
}

/** How often the leader looks, in milliseconds. */
const EVERY_MS = 5_000;

/** Keeps the list up to date. */
export function attentionJob(
  deps: Needs & Pick<Deps, 'log' | 'ids' | 'publicUrl'>,
  config: MachineSettings,
): Job {
  return {
    name: 'attention',
    effect: 'Attention is not up to date.',
    every: EVERY_MS,
    async run() {
      const found = await findAttention(deps, config);
      const { begun, ended } = await keepAttention(deps.db, found, deps.clock.now(), (tx, changes) =>
        queueNotices(tx, deps, changes),
      );
      await queueSummaries(deps.db, deps);
      for (const { id: item, message } of begun) deps.log.warn({ item }, `needs attention: ${message}`);
      for (const { id: item, message } of ended)
        deps.log.info({ item }, `no longer needs attention: ${message}`);
    },
  };
}

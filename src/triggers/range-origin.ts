import type { ReadTx } from '../../db/engine.ts';
import { type DraftRow, findDraftOfPost } from '../drafts/store.ts';
import type { EventSource } from '../events/model.ts';
import { eventReader, findEvent } from '../events/store.ts';
import { providerNames } from '../integrations/model.ts';
import { count } from '../lib/text.ts';
import { repositoryOf } from './kinds/branch.ts';
import type { Trigger } from './model.ts';
import { findRange } from './range-store.ts';
import { findTrigger } from './store.ts';

const SUBJECT = 'release ';

/** Why a draft does not say all about its commits, as sentences; null when it does, or has notes. */
export async function findRangeProblem(tx: ReadTx, postId: string): Promise<string | null> {
  const draft = await findDraftOfPost(tx, postId);
  const trigger = draft && (await findTrigger(tx, draft.triggerId));
  const repositoryId = draft && repositoryOf(draft.scope);
  if (trigger === null || !repositoryId || draft === null) return null;
  return (
    (await findCutPush(tx, { integrationId: trigger.integrationId, repositoryId }, trigger.id, draft)) ??
    (await findReleaseProblem(tx, trigger, repositoryId, draft))
  );
}

const PUSH = 'push ';

/** A push whose payload named fewer commits than it counted. */
async function findCutPush(
  tx: ReadTx,
  source: EventSource,
  triggerId: string,
  { eventKeys }: DraftRow,
): Promise<string | null> {
  const keys = eventKeys.filter((key) => key.startsWith(PUSH)).map((key) => key.slice(PUSH.length));
  if (keys.length === 0) return null;
  for (const event of (await eventReader(tx, { ...source, triggerId }).findAll('push', keys)).values()) {
    if (event.type !== 'push' || event.data.total === undefined) continue;
    const { total, commits } = event.data;
    return `A push of ${count(total, 'commit')} named only ${commits.length}: changes may be missing.`;
  }
  return null;
}

async function findReleaseProblem(
  tx: ReadTx,
  trigger: Trigger,
  repositoryId: string,
  draft: DraftRow,
): Promise<string | null> {
  if (!draft.subject.startsWith(SUBJECT)) return null;
  const { integrationId } = trigger;
  const key = { integrationId, repositoryId, tag: draft.subject.slice(SUBJECT.length) };
  const range = await findRange(tx, key);
  if (range === null || range.problem === null) return null;
  const release = await findEvent(tx, key, { type: 'release', key: key.tag });
  const hasNotes = release?.type === 'release' && release.data.notes !== null;
  if (hasNotes && trigger.event === 'release') return null;
  if (range.status === 'known') return range.problem;
  if (range.isRead && trigger.filters.path === undefined) return null;
  const until = range.status === 'queued' ? ', until Tidings can ask again' : '';
  const provider = providerNames[trigger.integrationType];
  return `By time${until}, because ${provider} could not be asked. ${range.problem}`;
}

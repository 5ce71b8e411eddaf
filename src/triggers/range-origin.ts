import type { ReadTx } from '../../db/engine.ts';
import { findDraftOfPost } from '../drafts/store.ts';
import { findEvent } from '../events/store.ts';
import { providerNames } from '../integrations/model.ts';
import { repositoryOf } from './kinds/branch.ts';
import { findRange } from './range-store.ts';
import { findTrigger } from './store.ts';

const SUBJECT = 'release ';

/** Why a release's draft does not say all about its commits, as sentences; null when it does, or has notes. */
export async function findRangeProblem(tx: ReadTx, postId: string): Promise<string | null> {
  const draft = await findDraftOfPost(tx, postId);
  const trigger = draft && (await findTrigger(tx, draft.triggerId));
  const repositoryId = draft && repositoryOf(draft.scope);
  if (trigger === null || !repositoryId || !draft?.subject.startsWith(SUBJECT)) return null;
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

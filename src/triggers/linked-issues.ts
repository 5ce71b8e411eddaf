import type { ReadTx, WriteTx } from '../../db/engine.ts';
import type { Material } from '../drafts/model.ts';
import { listDraftsNaming } from '../drafts/store.ts';
import type { Event } from '../events/model.ts';
import { findIssues } from '../events/store.ts';
import type { PlannedDraft } from './kinds/kind.ts';
import { queueRun } from './queue-store.ts';

// The issues that commits and pull requests name. A draft records the identifiers, so that an issue that is completed
// later changes it.

/** Of one draft. */
const MAX_IDENTIFIERS = 2_000;

/** The identifiers that the changes of a draft name. */
function identifiersOf({ pushes, pullRequests, issues, release }: Material): string[] {
  const named = [
    ...pullRequests.flatMap(({ data }) => data.identifiers ?? []),
    ...pushes.flatMap(({ data }) => data.commits.flatMap(({ identifiers }) => identifiers ?? [])),
    // Those of a tracker's release: the issues of a rolling draft queue its runs themselves.
    ...(release === null ? [] : issues.map(({ data }) => data.identifier)),
  ];
  return [...new Set(named)].slice(0, MAX_IDENTIFIERS);
}

/** The drafts with the completed issues of the organization that they name. */
export async function withIssues<Draft extends PlannedDraft>(
  tx: ReadTx,
  organizationId: string,
  drafts: readonly Draft[],
): Promise<Draft[]> {
  const named = drafts.map(({ material }) => (material === null ? [] : identifiersOf(material)));
  const issues = await findIssues(tx, organizationId, new Set(named.flat()));
  return drafts.map((draft, index) => {
    const identifiers = named[index] ?? [];
    if (draft.material === null || identifiers.length === 0) return draft;
    const linked = identifiers.flatMap((each) => issues.get(each) ?? []);
    const keys = [
      ...identifiers.map((each) => `identifier ${each}`),
      ...linked.map(({ key }) => `issue ${key}`),
    ];
    return {
      ...draft,
      material: { ...draft.material, linked },
      eventKeys: [...draft.eventKeys, ...keys],
    };
  });
}

/** Plans the drafts again that name an issue, in the transaction of its delivery. */
export async function queueNaming(
  tx: WriteTx,
  integrationId: string,
  versions: readonly Event[],
  now: Date,
): Promise<void> {
  const identifiers = versions.flatMap(({ type, data }) => (type === 'issue' ? data.identifier : []));
  const [newest] = versions;
  if (newest === undefined || identifiers.length === 0) return;
  const naming = await listDraftsNaming(tx, integrationId, [...new Set(identifiers)]);
  for (const { triggerId, scope, until: since } of naming) {
    await queueRun(tx, { triggerId, scope, since, deliveryId: newest.deliveryId }, now);
  }
}

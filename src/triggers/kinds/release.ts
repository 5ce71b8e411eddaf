import { branchOf, branchScope, changesIn, isMeant, releaseOf, windowsSince } from './branch.ts';
import { noMaterial, nothing, planned, type TriggerKind } from './kind.ts';

/** A release is a draft of its own: what its notes say or, when it has none, what came since the one before. */
export const release: TriggerKind = {
  event: 'release',
  action: 'published',
  tells: ['release'],
  isOfBranch: true,
  filters: ['branch', 'prereleases', 'tag'],
  isRolling: false,

  scopesOf({ filters }, event, { repositoryId }) {
    if (event.branch === null || !isMeant(filters, event)) return [];
    const { type } = event;
    // What was pushed may belong to a release that was told of before it.
    return type === 'release' || type === 'push' || type === 'pull_request'
      ? [branchScope(repositoryId, event.branch)]
      : [];
  },

  matches(filters, event) {
    return event.type === 'release' && isMeant(filters, event);
  },

  async plan({ trigger, scope, since, events }) {
    const branch = branchOf(scope);
    const { windows, leftOut } = await windowsSince(events, branch, trigger.filters, since);
    const drafts = leftOut.map((tag) => nothing(subjectOf(tag)));
    for (const window of windows) {
      const arrival = window.tag === null ? null : await events.arrivalOf('release', window.tag);
      if (arrival === null) continue;
      const found = await releaseOf(events, window.tag);
      if (found === null) continue;
      const { previousTag } = window;
      const base = { ...noMaterial, repository: found.repository, branch, release: found, previousTag };
      const changes = found.data.notes === null ? await changesIn(events, branch, window, false) : {};
      const draft = planned(subjectOf(found.key), [found], { ...base, ...changes });
      drafts.push({ ...draft, draftOnly: arrival.draftOnly });
    }
    return drafts;
  },
};

export function subjectOf(tag: string): string {
  return `release ${tag}`;
}

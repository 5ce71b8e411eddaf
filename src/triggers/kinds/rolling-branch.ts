import { isBranchMerge } from '../../drafts/changes/reached.ts';
import type { ShippedEvent } from '../../events/model.ts';
import { isOneOf } from '../match.ts';
import { branchOf, branchScope, changesIn, isMeant, releaseOf, windowsSince } from './branch.ts';
import { noMaterial, nothing, OPEN, type PlannedDraft, planned, type TriggerKind, wasTold } from './kind.ts';
import { subjectOf } from './release.ts';

/** Everything that reaches a branch, in one draft until a release closes it. */
export const push: TriggerKind = rollingBranch({
  event: 'push',
  action: 'pushed',
  needs: ['pull_request', 'push', 'release'],
  filters: ['branch', 'prereleases', 'tag'],
});

/** The pull requests that are merged into a branch, in one draft until a release closes it. */
export const pullRequest: TriggerKind = rollingBranch({
  event: 'pull_request',
  action: 'merged',
  needs: ['pull_request', 'release'],
  filters: ['branch', 'label', 'prereleases', 'tag'],
});

function rollingBranch(
  kind: Pick<TriggerKind, 'action' | 'filters' | 'needs'> & { event: 'push' | 'pull_request' },
): TriggerKind {
  const tells = (event: ShippedEvent) => event.type === 'pull_request' || event.type === kind.event;
  return {
    ...kind,
    provider: 'github',
    isRolling: true,

    scopesOf({ filters }, event, { repositoryId }) {
      const means = tells(event) || event.type === 'release';
      return means && event.branch !== null && isMeant(filters, event)
        ? [branchScope(repositoryId, event.branch)]
        : [];
    },

    async plan({ trigger: { filters }, scope, since, events, told }) {
      const branch = branchOf(scope);
      const { windows, leftOut } = await windowsSince(events, branch, filters, since);
      const drafts: PlannedDraft[] = leftOut.map((tag) => nothing(subjectOf(tag)));
      for (const window of windows) {
        const subject = window.tag === null ? OPEN : subjectOf(window.tag);
        const found = await changesIn(events, branch, window);
        const pushes = found.pushes.filter(
          (event) => tells(event) && !wasTold(event, told) && !event.data.commits.every(isBranchMerge),
        );
        const pullRequests = found.pullRequests.filter(
          (event) => isOneOf(filters.label, ...event.data.labels) && !wasTold(event, told),
        );
        const changes = [...pushes, ...pullRequests];
        if (changes.length === 0) {
          drafts.push(nothing(subject));
          continue;
        }
        const release = await releaseOf(events, window.tag);
        const material = {
          ...noMaterial,
          repository: changes[0]?.repository ?? null,
          branch,
          isDefaultBranch: changes.some(
            (event) => event.type === 'push' || event.data.isDefaultBranch !== false,
          ),
          release,
          previousTag: window.previousTag,
          pushes,
          pullRequests,
        };
        drafts.push(planned(subject, release === null ? changes : [...changes, release], material));
      }
      return drafts;
    },
  };
}

import { isBranchMerge } from '../../drafts/changes/reached.ts';
import type { Told } from '../../drafts/store.ts';
import type { EventReader, EventType } from '../../events/model.ts';
import { isOneOf } from '../match.ts';
import type { TriggerFilters } from '../model.ts';
import { branchOf, branchScope, changesIn, isMeant, releaseOf, type Window, windowsSince } from './branch.ts';
import { noMaterial, nothing, OPEN, type PlannedDraft, planned, type TriggerKind, wasTold } from './kind.ts';
import { subjectOf } from './release.ts';

/** Everything that reaches a branch, in one draft until a release closes it. */
export const push: TriggerKind = rollingBranch({
  event: 'push',
  action: 'pushed',
  filters: ['branch', 'prereleases', 'tag'],
});

/** The pull requests that are merged into a branch, in one draft until a release closes it. */
export const pullRequest: TriggerKind = rollingBranch({
  event: 'pull_request',
  action: 'merged',
  filters: ['branch', 'label', 'prereleases', 'tag'],
});

function rollingBranch(
  kind: Pick<TriggerKind, 'action' | 'filters'> & { event: 'push' | 'pull_request' },
): TriggerKind {
  const tells: EventType[] = kind.event === 'push' ? ['push', 'pull_request'] : ['pull_request'];
  return {
    ...kind,
    tells,
    isOfBranch: true,
    isRolling: true,

    scopesOf({ filters }, event, { repositoryId }) {
      const means = tells.includes(event.type) || event.type === 'release';
      return means && event.branch !== null && isMeant(filters, event)
        ? [branchScope(repositoryId, event.branch)]
        : [];
    },

    matches(filters, event) {
      return (
        tells.includes(event.type) &&
        isMeant(filters, event) &&
        (event.type !== 'pull_request' || isOneOf(filters.label, ...event.data.labels))
      );
    },

    async plan({ trigger: { filters }, scope, since, events, told }) {
      const branch = branchOf(scope);
      const { windows, leftOut } = await wholeWindows(events, branch, filters, since, told);
      const drafts: PlannedDraft[] = leftOut.map((tag) => nothing(subjectOf(tag)));
      for (const window of windows) {
        const subject = subjectOfWindow(window);
        const found = await changesIn(events, branch, window, true);
        const pushes = found.pushes.filter(
          (event) =>
            tells.includes('push') && !wasTold(event, told) && !event.data.commits.every(isBranchMerge),
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

/**
 * The windows since then, and earlier ones while their drafts hold older events. A release that arrived while the
 * trigger was disabled may split such a draft: plan both parts, so that none is lost.
 */
async function wholeWindows(
  events: EventReader,
  branch: string,
  filters: TriggerFilters,
  since: string,
  told: Told,
): ReturnType<typeof windowsSince> {
  const found = await windowsSince(events, branch, filters, since);
  const oldest = told.oldestOf([...found.leftOut.map(subjectOf), ...found.windows.map(subjectOfWindow)]);
  return oldest === null || oldest >= since ? found : wholeWindows(events, branch, filters, oldest, told);
}

function subjectOfWindow({ tag }: Window): string {
  return tag === null ? OPEN : subjectOf(tag);
}

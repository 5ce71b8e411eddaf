import type { Shipped } from '../../drafts/model.ts';
import type { EventReader, ShippedEvent } from '../../events/model.ts';
import { fitsOne, isReleaseMeant } from '../match.ts';
import type { TriggerFilters } from '../model.ts';

// What the events of a code host share: a branch of a repository, and the releases that part its history.

/** The scope of a branch. Ids hold no space. */
export function branchScope(repositoryId: string | null, branch: string): string {
  return `${repositoryId} ${branch}`;
}

export function repositoryOf(scope: string): string {
  return scope.slice(0, scope.indexOf(' '));
}

export function branchOf(scope: string): string {
  return scope.slice(scope.indexOf(' ') + 1);
}

/** Whether the event is of a branch that is meant (without a filter the default one), or a release that is. */
export function isMeant(filters: TriggerFilters, event: ShippedEvent): boolean {
  const { branch: patterns } = filters;
  if (event.branch === null) return false;
  if (event.type === 'release' && !isReleaseMeant(filters, event.data)) return false;
  if (patterns !== undefined) return fitsOne(patterns, event.branch);
  return event.type !== 'pull_request' || event.data.isDefaultBranch !== false;
}

/** What reached the branch after one release and until the next. */
export interface Window {
  /** The tag that it begins after; null at the beginning of what is known. */
  previousTag: string | null;
  after: string | undefined;
  /** The release that closes it; null for the one that is open. */
  tag: string | null;
  until: string | undefined;
}

/**
 * The windows that something since `since` may be in, oldest first, the open one last; and the releases since then
 * that part nothing, as the filters leave them out.
 */
export async function windowsSince(
  events: EventReader,
  branch: string,
  filters: TriggerFilters,
  since: string,
): Promise<{ windows: Window[]; leftOut: string[] }> {
  const windows: Window[] = [];
  const leftOut: string[] = [];
  let previousTag: string | null = null;
  let after: string | undefined;
  for (const release of await events.listReleases(branch)) {
    const { tag, occurredAt } = release;
    if (!isReleaseMeant(filters, release)) {
      if (occurredAt >= since) leftOut.push(tag);
      continue;
    }
    if (occurredAt >= since) windows.push({ previousTag, after, tag, until: occurredAt });
    previousTag = tag;
    after = occurredAt;
  }
  windows.push({ previousTag, after, tag: null, until: undefined });
  return { windows, leftOut };
}

/** What reached the branch within a window, oldest first; with `arrived` only what the trigger may make posts of. */
export async function changesIn(
  events: EventReader,
  branch: string,
  { after, until }: Window,
  arrived: boolean,
): Promise<{ pushes: Shipped<'push'>[]; pullRequests: Shipped<'pull_request'>[] }> {
  const found = await events.list(['push', 'pull_request'], { branch, after, until, arrived });
  return {
    pushes: found.filter((event) => event.type === 'push'),
    pullRequests: found.filter((event) => event.type === 'pull_request'),
  };
}

/** The release that closes a window. */
export async function releaseOf(events: EventReader, tag: string | null): Promise<Shipped<'release'> | null> {
  const found = tag === null ? null : await events.find('release', tag);
  return found?.type === 'release' ? found : null;
}

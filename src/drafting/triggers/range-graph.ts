import type { Commit } from '../../providers/events.ts';
import { isoTime } from '../../providers/provider.ts';
import type { RangeCommit as ReadCommit } from '../../providers/reader.ts';
import { versionOf } from '../links.ts';
import type { RangeCommit } from './range-store.ts';

// Which earlier release a release follows in the graph, and how its commits came to the main line.

/** A release as far as its place in the history matters. */
export interface ReleasePoint {
  tag: string;
  /** ISO 8601. */
  occurredAt: string;
}

/**
 * The earlier releases in the order to try: the newest, then the one whose version comes right before, then the others.
 * After v2.0.0, a v1.9.5 follows v1.9.4.
 */
export function basesOf(release: ReleasePoint, all: readonly ReleasePoint[]): ReleasePoint[] {
  const earlier = all.filter((each) => isBefore(each, release)).sort((a, b) => (isBefore(a, b) ? 1 : -1));
  const [newest] = earlier;
  const nearest = earlier
    .filter((each) => compareVersions(each.tag, release.tag) === -1)
    .reduce<ReleasePoint | undefined>(
      (best, each) => (best === undefined || compareVersions(best.tag, each.tag) === -1 ? each : best),
      undefined,
    );
  return [...new Set([newest, nearest, ...earlier])].filter((each) => each !== undefined);
}

/** By time, then by tag, as releases are listed. */
function isBefore(one: ReleasePoint, other: ReleasePoint): boolean {
  if (one.occurredAt !== other.occurredAt) return one.occurredAt < other.occurredAt;
  return one.tag < other.tag;
}

/** -1, 0 or 1 for versions of one product; null for tags that cannot be compared, such as `api@2.0.0` and `web@1.0.0`. */
export function compareVersions(one: string, other: string): number | null {
  const [a, b] = [one, other].map((tag) => {
    const version = versionOf(tag);
    return { product: tag.slice(0, tag.length - version.length).replace(/v$/, ''), version };
  }) as [Tagged, Tagged];
  if (a.product !== b.product || !/^\d/.test(a.version) || !/^\d/.test(b.version)) return null;
  // Missing numbers are zeros; more than three are no semantic version, but compare by number too.
  return Math.sign(orderOf(a.version, b.version));
}

interface Tagged {
  product: string;
  version: string;
}

function orderOf(one: string, other: string): number {
  const [a, b] = [one, other].map((version) => {
    const [core = '', pre = ''] = version.split('+')[0]?.split(/-(.*)/s) ?? [];
    return { numbers: core.split('.').map(Number), pre };
  }) as [Parsed, Parsed];
  for (let at = 0; at < Math.max(a.numbers.length, b.numbers.length); at++) {
    const difference = (a.numbers[at] ?? 0) - (b.numbers[at] ?? 0);
    if (difference !== 0) return difference;
  }
  if (a.pre === b.pre) return 0;
  // A pre-release comes before its release.
  if (a.pre === '' || b.pre === '') return a.pre === '' ? 1 : -1;
  return Bun.semver.order(`0.0.0-${a.pre}`, `0.0.0-${b.pre}`);
}

interface Parsed {
  numbers: number[];
  pre: string;
}

/** Commits of one rebase have the same time, or nearly, in milliseconds. */
const SAME_TIME_MS = 2_000;

/**
 * The commits of a range with the commit of the main line that brought each, as if each step of the main line had been
 * pushed alone. A rebase puts several commits on the main line in one step: they have the same time.
 */
export function alongMainLine(
  commits: readonly Commit[],
  graph: readonly ReadCommit[],
  pathsOf: (sha: string) => string[] | undefined,
): RangeCommit[] {
  const read = new Map(graph.map((each) => [each.sha, each]));
  const broughtBy = new Map<string, string>();
  for (const head of mainLineOf(graph)) {
    // Oldest first: what an earlier step brought is taken.
    const waiting = [head];
    for (let sha = waiting.pop(); sha !== undefined; sha = waiting.pop()) {
      if (!read.has(sha) || broughtBy.has(sha)) continue;
      broughtBy.set(sha, head);
      waiting.push(...(read.get(sha)?.parents ?? []));
    }
  }
  return commits.map((commit) => {
    const by = broughtBy.get(commit.sha) ?? commit.sha;
    const paths = pathsOf(commit.sha) ?? commit.paths;
    return {
      ...commit,
      ...(paths !== undefined && { paths }),
      // The provider's text: windows calculate with it.
      at: isoTime(read.get(commit.sha)?.committedAt),
      ...(by !== commit.sha && { broughtBy: by }),
    };
  });
}

/** The last commit of each step of the main line, oldest first. */
function mainLineOf(graph: readonly ReadCommit[]): string[] {
  const read = new Map(graph.map((each) => [each.sha, each]));
  const line: ReadCommit[] = [];
  const seen = new Set<string>();
  for (let at = graph.at(-1); at !== undefined && !seen.has(at.sha); at = read.get(at.parents?.[0] ?? '')) {
    seen.add(at.sha);
    line.unshift(at);
  }
  return line
    .filter((commit, index) => {
      const next = line[index + 1];
      return next === undefined || !isOneStep(commit, next);
    })
    .map(({ sha }) => sha);
}

function isOneStep(one: ReadCommit, next: ReadCommit): boolean {
  // A merge is a step of its own.
  if ([one, next].some(({ parents }) => parents === undefined || parents.length > 1)) return false;
  const [a, b] = [one, next].map(({ committedAt }) => Date.parse(committedAt ?? ''));
  return a !== undefined && b !== undefined && Math.abs(b - a) <= SAME_TIME_MS;
}

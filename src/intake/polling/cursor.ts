import type { PollCursor } from '../../integrations/poll-store.ts';
import { ProviderProblem } from '../../providers/api.ts';
import type { Payload } from '../../providers/provider.ts';
import type {
  ReadDelivery,
  RemoteRepository,
  RepositoryReader,
  RequestBudget,
} from '../../providers/reader.ts';

// The memory of a poll for the next one, in the JSON column of its row.

/** The state of a repository at the last round. */
export interface Seen {
  /** The default branch, and its commit. */
  branch: string;
  head: string;
  headEtag: string | null;
  /** Marks of the releases on the first page, each of an identity and a content; see `markOf`. */
  releases: readonly Mark[];
  releasesEtag: string | null;
  /** The first page had all releases. */
  hasAllReleases: boolean;
  /** The time of the newest release. ISO 8601, or empty. */
  releasedUntil: string;
  /** Marks of the merged pull requests on the first page. */
  merged: readonly Mark[];
  mergedEtag: string | null;
  /** Pull requests that were merged before are no news. ISO 8601, or empty. */
  mergedFrom: string;
  /** Rounds since the provider was asked for the repository itself: its name, its default branch. */
  rounds: number;
}

/** A change to a webhook, or back, that is under way. */
export interface Switching {
  /** A webhook takes over: polling ends after the first delivery since then, and one more round. ISO 8601. */
  webhookSince: string | null;
  /** The webhook is deleted after the next round. */
  hasOldHook: boolean;
}

/** Digests of an identity and of a content. */
export interface Mark {
  id: string;
  content: string;
}

const DIGEST_LENGTH = 16;

export function digestOf(value: unknown): string {
  return new Bun.CryptoHasher('sha256').update(JSON.stringify(value)).digest('hex').slice(0, DIGEST_LENGTH);
}

const writeMarks = (marks: readonly Mark[]) => marks.map(({ id, content }) => id + content).join(' ');

const readMarks = (text: string | null | undefined): Mark[] =>
  (text ?? '')
    .split(' ')
    .filter((mark) => mark !== '')
    .map((mark) => ({ id: mark.slice(0, DIGEST_LENGTH), content: mark.slice(DIGEST_LENGTH) }));

/** Null before the first poll. */
export function readSeen(cursor: PollCursor | null): Seen | null {
  const { branch, head } = cursor ?? {};
  if (cursor === null || !branch || !head) return null;
  return {
    branch,
    head,
    headEtag: cursor.headEtag ?? null,
    releases: readMarks(cursor.releases),
    releasesEtag: cursor.releasesEtag ?? null,
    hasAllReleases: cursor.hasAllReleases === 'yes',
    releasedUntil: cursor.releasedUntil ?? '',
    merged: readMarks(cursor.merged),
    mergedEtag: cursor.mergedEtag ?? null,
    mergedFrom: cursor.mergedFrom ?? '',
    rounds: Number(cursor.rounds ?? 0),
  };
}

export function readSwitching(cursor: PollCursor | null): Switching {
  return { webhookSince: cursor?.webhookSince ?? null, hasOldHook: cursor?.oldHook === 'yes' };
}

/** The provider's limit of requests after the last poll; null where it named none. */
export function readBudget(cursor: PollCursor | null) {
  const { limit = null, remaining = null, resetAt = null } = cursor ?? {};
  if (limit === null || remaining === null) return null;
  return { limit: Number(limit), remaining: Number(remaining), resetAt };
}

export function writeCursor(
  seen: Seen | null,
  { webhookSince, hasOldHook }: Switching,
  budget: RequestBudget | null,
): PollCursor {
  return {
    ...(seen && {
      ...seen,
      releases: writeMarks(seen.releases),
      merged: writeMarks(seen.merged),
      hasAllReleases: seen.hasAllReleases ? 'yes' : null,
      rounds: String(seen.rounds),
    }),
    webhookSince,
    oldHook: hasOldHook ? 'yes' : null,
    ...(budget && {
      limit: budget.limit === null ? null : String(budget.limit),
      remaining: budget.remaining === null ? null : String(budget.remaining),
      resetAt: budget.resetAt?.toISOString() ?? null,
    }),
  };
}

// A webhook names the files of each commit, and an API lists commits without them. Triggers that filter by path need
// them, at the price of a request for each commit.

/** Of one round. */
const MAX_REQUESTS = 20;

/** The part of the requests left until the limit ends that a round may take. */
const SHARE = 0.25;

type Source = Pick<RepositoryReader, 'budget' | 'listFiles'>;

/** The pushes with the files of as many commits as may be asked for, and how many commits stay without. */
export async function withFiles(
  reader: Source,
  remote: RemoteRepository,
  pushes: readonly ReadDelivery[],
): Promise<{ pushes: ReadDelivery[]; unknown: number }> {
  const ids = pushes.flatMap(commitsOf).flatMap(({ id }) => (typeof id === 'string' ? id : []));
  // Pushes around a forced push have commits in common.
  const shas = [...new Set(ids)];
  const { remaining } = reader.budget;
  const limit = Math.min(MAX_REQUESTS, Math.floor((remaining ?? Number.POSITIVE_INFINITY) * SHARE));
  const files = await listFiles(reader, remote, limit > 0 ? shas.slice(-limit) : []);
  const filled = pushes.map((push) => {
    const commits = commitsOf(push).map((commit) => {
      const modified = files.get(String(commit.id));
      return modified === undefined ? commit : { ...commit, modified };
    });
    return { ...push, payload: { ...push.payload, commits } };
  });
  return { pushes: filled, unknown: shas.length - files.size };
}

async function listFiles(reader: Source, remote: RemoteRepository, shas: readonly string[]) {
  const files = new Map<string, string[]>();
  if (reader.listFiles === undefined) return files;
  try {
    for (const sha of shas) {
      const listed = await reader.listFiles(remote, sha);
      if (listed !== null) files.set(sha, listed);
    }
  } catch (error) {
    // The commits count more than their files, and the next round says what is wrong.
    if (!(error instanceof ProviderProblem)) throw error;
  }
  return files;
}

const commitsOf = ({ payload }: ReadDelivery) =>
  Array.isArray(payload.commits) ? (payload.commits as Payload[]) : [];

import type { PollCursor } from '../../integrations/poll-store.ts';
import { ProviderProblem } from '../../providers/api.ts';
import type { Payload } from '../../providers/provider.ts';
import type {
  ReadDelivery,
  RemoteRepository,
  RepositoryReader,
  RequestBudget,
} from '../../providers/reader.ts';

export type Seen = NonNullable<PollCursor['seen']>;

/** Digests of an identity and of a content. */
export type Mark = Seen['releases'][number];

const DIGEST_LENGTH = 16;

export function digestOf(value: unknown): string {
  return new Bun.CryptoHasher('sha256').update(JSON.stringify(value)).digest('hex').slice(0, DIGEST_LENGTH);
}

/** The provider's limit as a cursor keeps it; null where it named none. */
export function budgetOf({ limit, remaining, resetAt }: RequestBudget) {
  if (limit === null || remaining === null) return null;
  return { limit, remaining, resetAt: resetAt?.toISOString() ?? null };
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

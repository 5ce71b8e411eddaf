import type { Storage } from '../../db/engine.ts';
import type { RepeatVerdict } from '../keys/model.ts';
import { BoundedMap, firstTimes } from '../lib/bounded-map.ts';
import type { Metrics } from '../lib/metrics.ts';

/** For all kept responses and their requests together. */
const MAX_KEPT_BYTES = 8 * 1024 * 1024;

/** The rough cost of a response beside its body and its request. */
const OVERHEAD_BYTES = 2048;

/** How many requests are remembered as seen once. */
const MAX_SEEN = 4096;

/** A response that may be given again. */
export interface Answer {
  /** The version of the database, from before anything was read for the response. */
  version: number;
  /** The pattern of the route, for metrics. */
  route: string;
  repeatVerdict: RepeatVerdict;
  response: Response;
  bodyBytes: number;
}

export type Repeats = ReturnType<typeof createRepeats>;

/**
 * Gives responses of the content API again to equal requests, until any process commits anything. A change of a post or
 * of a key is a commit, so it shows in the next response. Only what is asked for a second time is kept.
 */
export function createRepeats(
  { version }: Pick<Storage, 'version'>,
  { verifications, verificationDurations }: Pick<Metrics, 'verifications' | 'verificationDurations'>,
  maxKeptBytes = MAX_KEPT_BYTES,
) {
  const kept = new BoundedMap<string, Answer>(maxKeptBytes);
  const isFirst = firstTimes(MAX_SEEN);

  return {
    version,

    /** Null: the request must be handled. A copy of a response shares its body, and takes a tenth of the time. */
    find(request: Request): { route: string; response: Response } | null {
      if (kept.size === 0 || request.method !== 'GET') return null;
      const present = kept.get(keyOf(request));
      if (present === undefined || present.version !== version() || !present.repeatVerdict()) return null;
      verifications.valid.value++;
      verificationDurations.observe(0);
      return { route: present.route, response: present.response.clone() as Response };
    },

    /** `answer.response` may be sent afterwards. */
    keep(request: Request, answer: Answer): void {
      const key = keyOf(request);
      if (request.method !== 'GET' || isFirst(key)) return;
      // A URL and its headers may be as long as a page of posts.
      const bytes = OVERHEAD_BYTES + key.length + answer.bodyBytes;
      kept.set(key, { ...answer, response: answer.response.clone() as Response }, bytes);
    },
  };
}

/** Everything that a response of the content API depends on. */
function keyOf({ url, headers }: Request): string {
  const [etag, coding] = [headers.get('if-none-match'), headers.get('accept-encoding')];
  return `${url}\n${headers.get('authorization')}\n${etag}\n${coding}`;
}

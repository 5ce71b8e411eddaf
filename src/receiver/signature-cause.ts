import { letOthersIn } from '../lib/turns.ts';
import { type BodyVariant, bodyVariants } from './body-variants.ts';

// Why a signature may be wrong, found by making the usual mistakes on purpose: a candidate is a secret and a body that
// may have been signed instead. Knows neither the database nor the provider.

/** The largest body that is examined, in bytes. Most deliveries have less than 30 KiB. */
export const MAX_EXAMINED_BYTES = 128 * 1024;

/** Of a refused signature. The last three say that nothing was found, and that nothing was looked for. */
export type SignatureCause =
  | 'previous-secret'
  | 'other-integration'
  | 'whitespace'
  | 'body-altered'
  | 'form'
  | 'unknown'
  | 'too-large'
  | 'not-examined';

/** What may have been signed, and with what. `detail` says what went wrong, never with a word of either. */
export interface Candidate {
  cause: SignatureCause;
  detail: string;
  secret: string;
  body: Uint8Array;
  /** The other integration whose secret it is. */
  integrationId?: string;
}

export type Found = Pick<Candidate, 'cause' | 'detail' | 'integrationId'>;

/** The secrets that were opened for a refused delivery. */
export interface OpenedSecrets {
  /** Those in force, the present one first. */
  accepted: readonly string[];
  /** The one before the last rotation, once it is no longer taken. */
  expired: string | null;
  /** Those of the organization's other integrations; asked for only when they are needed. */
  others(): Promise<readonly { id: string; secrets: readonly string[] }[]>;
}

/** What may stand around a secret that was pasted, by what people call it. */
const surroundings: readonly (readonly [before: string, after: string, name: string])[] = [
  ...[
    ['\n', 'a line break'],
    ['\r\n', 'a line break'],
    ['\r', 'a line break'],
    [' ', 'a space'],
    ['\t', 'a tab'],
    ['\u00a0', 'a space'],
  ].flatMap(([each = '', name]): [string, string, string][] => [
    ['', each, `${name} behind it`],
    [each, '', `${name} before it`],
  ]),
  [' ', ' ', 'spaces around it'],
  ['"', '"', 'quotation marks around it'],
  ["'", "'", 'quotation marks around it'],
  ['`', '`', 'quotation marks around it'],
];

/** The usual mistakes, the cheapest first. Each candidate is made when it is asked for. */
export async function* candidates(
  { accepted, expired, others }: OpenedSecrets,
  body: Uint8Array,
): AsyncGenerator<Candidate> {
  if (expired !== null) yield { cause: 'previous-secret', detail: '', secret: expired, body };
  for (const [before, after, detail] of surroundings) {
    const present = accepted[0];
    // Around an empty secret anybody could put white space.
    if (present) yield { cause: 'whitespace', detail, secret: `${before}${present}${after}`, body };
  }
  for (const { id, secrets } of await others()) {
    for (const secret of secrets) {
      yield { cause: 'other-integration', detail: '', secret, body, integrationId: id };
    }
  }
  for (const variant of bodyVariants(body)) yield* withEach(accepted, variant);
}

function* withEach(secrets: readonly string[], { text, ...variant }: BodyVariant): Generator<Candidate> {
  const body = Buffer.from(text);
  for (const secret of secrets) yield { ...variant, secret, body };
}

/** How many bytes are hashed before other work of the server has its turn. */
const BYTES_PER_TURN = 2 * 1024 * 1024;

/** The first candidate that fits, without its secret and its body; null when none does. */
export async function findCause(
  tried: AsyncIterable<Candidate>,
  fits: (candidate: Candidate) => boolean,
): Promise<Found | null> {
  let bytes = 0;
  for await (const candidate of tried) {
    if (fits(candidate)) {
      const { secret: _, body: __, ...found } = candidate;
      return found;
    }
    bytes += candidate.body.byteLength;
    if (bytes < BYTES_PER_TURN) continue;
    bytes = 0;
    await letOthersIn();
  }
  return null;
}

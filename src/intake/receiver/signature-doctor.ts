import {
  acceptedSecrets,
  expiredSecret,
  getIntegration,
  type Integration,
  listOtherSecrets,
  type ReceivingIntegration,
} from '../../integrations/store.ts';
import { type Clock, letOthersIn } from '../../lib/time.ts';
import type { Deps } from '../../people/deps.ts';
import type { Provider } from '../../providers/provider.ts';

// Bodies that may have been signed before something on the way changed them. They come from unverified senders, so
// the time for everything here grows with their length.

/** The changes on the way from the signer to the receiver, in words. */
export const bodyChanges = {
  'json-rewritten': 'the JSON was reformatted',
  'form-to-json': 'the JSON was extracted from a form',
  'json-to-form': 'the JSON was wrapped in a form',
  'form-rewritten': 'the form was encoded again',
  'line-ends': 'the line endings were changed',
  'line-end-added': 'a line ending was added at the end',
  'line-end-removed': 'the last line ending was removed',
  'bom-added': 'a byte order mark was added',
  'bom-removed': 'the byte order mark was removed',
};

type BodyChange = keyof typeof bodyChanges;

/** `text` is the body before the change. */
type Variant = [change: BodyChange, text: string];

const BOM = '\uFEFF';
const FORM = /(?:^|&)payload=([^&]*)/;
const JSON_START = /^\s*[{[]/;

/** None when the body is not UTF-8. */
export function* bodyVariants(body: Uint8Array): Generator<Variant> {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return;
  }
  const field = JSON_START.test(text) ? undefined : FORM.exec(text)?.[1];
  for (const variant of field === undefined ? ofJson(text) : ofForm(field)) {
    if (variant[1] !== text) yield variant;
  }
  yield* ofLines(text);
}

function* ofJson(json: string): Generator<Variant> {
  for (const text of layouts(json)) yield ['json-rewritten', text];
  for (const text of forms(json)) yield ['form-to-json', text];
}

function* ofForm(field: string): Generator<Variant> {
  const json = new URLSearchParams(`payload=${field}`).get('payload') ?? '';
  yield ['json-to-form', json];
  for (const text of forms(json)) yield ['form-rewritten', text];
}

function* ofLines(text: string): Generator<Variant> {
  const unix = text.replaceAll('\r\n', '\n');
  if (unix !== text) yield ['line-ends', unix];
  if (unix.includes('\n')) yield ['line-ends', unix.replaceAll('\n', '\r\n')];
  if (text.endsWith('\n')) yield ['line-end-added', text.replace(/\r?\n$/, '')];
  yield ['line-end-removed', `${text}\n`];
  yield ['line-end-removed', `${text}\r\n`];
  yield text.startsWith(BOM) ? ['bom-added', text.slice(BOM.length)] : ['bom-removed', BOM + text];
}

/** A form with the text in the field `payload`, in the encodings of providers, browsers and scripts. */
function* forms(text: string): Generator<string> {
  const encoded = encodeURIComponent(text);
  const strict = encoded.replaceAll(
    /[!'()*]/g,
    (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  yield `payload=${strict.replaceAll('%20', '+')}`;
  yield new URLSearchParams({ payload: text }).toString();
  yield `payload=${encoded}`;
  yield `payload=${strict}`;
}

/** Indentation grows with depth: this many levels make a body at most 17 times as long. Providers nest less. */
const MAX_DEPTH = 16;

/** The same JSON: compact, compact with only the escapes that JSON needs, and indented. */
function* layouts(json: string): Generator<string> {
  const text = compact(json);
  yield text;
  if (depthOf(text) > MAX_DEPTH) return;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return;
  }
  const indented = JSON.stringify(value, null, 2);
  yield* [JSON.stringify(value), indented, `${indented}\n`];
}

/** A string, which may lack its end, or white space. */
const STRING_OR_SPACE = /"(?:[^"\\]+|\\.)*"?|[ \t\r\n]+/gs;

/** JSON without white space. Unlike `JSON.parse`, it keeps numbers and the order of fields. */
export function compact(json: string): string {
  return json.replaceAll(STRING_OR_SPACE, (each) => (each.startsWith('"') ? each : ''));
}

export function depthOf(json: string): number {
  let depth = 0;
  let deepest = 0;
  for (const each of json.replaceAll(STRING_OR_SPACE, '')) {
    if (each === '{' || each === '[') deepest = Math.max(deepest, ++depth);
    else if (each === '}' || each === ']') depth--;
  }
  return deepest;
}

// Finds the likely cause of a wrong signature by repeating the usual mistakes: each candidate is a secret and a body
// that may have been signed instead. Unverified senders can trigger this work, so its time and frequency are bounded:
// one search takes about 15 ms.

/** The largest body that is examined, in bytes. Most deliveries have less than 30 KiB. */
export const MAX_EXAMINED_BYTES = 128 * 1024;

/** Other integrations whose secrets are tried, the newest first. */
export const MAX_OTHERS = 50;

/** Searches per minute: for one integration, and in all. */
export const MAX_PER_INTEGRATION = 3;
const MAX_PER_MINUTE = 100;

/** Bytes that are hashed before other work of the server gets its turn. */
const BYTES_PER_TURN = 2 * 1024 * 1024;

type Known =
  | { cause: 'previous-secret' }
  /** `extra`: the characters that were signed with the secret, in words. */
  | { cause: 'whitespace'; extra: string }
  | { cause: 'body-altered' | 'form'; change: BodyChange };

/** `tried` is null when the search failed. */
export type SignatureFinding =
  | Known
  | { cause: 'other-integration'; other: Integration }
  | { cause: 'too-large' | 'not-examined' }
  | { cause: 'unknown'; tried: Tried | null };

export type Tried = { hasPrevious: boolean; others: number; hasMore: boolean };

/** A secret and a body that may have been signed. `match` never holds either. */
export interface Candidate {
  secret: string;
  body: Uint8Array;
  match: Known | { cause: 'other-integration'; integrationId: string };
}

interface Refused {
  provider: Provider;
  integration: ReceivingIntegration;
  signature: string;
  body: Uint8Array;
}

type Needs = Pick<Deps, 'db' | 'clock' | 'secrets' | 'log'>;

/** Examines a delivery that no accepted secret signed. Never throws. */
export function createSignatureDoctor(deps: Needs): (refused: Refused) => Promise<SignatureFinding> {
  const mayExamine = createRate(deps.clock);
  return async (refused) => {
    const { integration, body } = refused;
    if (body.byteLength > MAX_EXAMINED_BYTES) return { cause: 'too-large' };
    if (!mayExamine(integration.id)) return { cause: 'not-examined' };
    try {
      return await examine(deps, refused);
    } catch (err) {
      deps.log.error({ err, integrationId: integration.id }, 'the cause of a wrong signature was not found');
      return { cause: 'unknown', tried: null };
    }
  };
}

async function examine(
  deps: Needs,
  { provider, integration, signature, body }: Refused,
): Promise<SignatureFinding> {
  const found = await listOtherSecrets(deps, integration, MAX_OTHERS + 1);
  const others = found.slice(0, MAX_OTHERS);
  const accepted = acceptedSecrets(deps, integration);
  const secrets = { accepted, expired: expiredSecret(deps, integration), others };
  let bytes = 0;
  for (const candidate of candidates(secrets, body)) {
    if (provider.isSigned(candidate.body, signature, candidate.secret)) {
      const { match } = candidate;
      if (match.cause !== 'other-integration') return match;
      const other = await deps.db.read((tx) => getIntegration(tx, match.integrationId));
      return { cause: 'other-integration', other };
    }
    bytes += candidate.body.byteLength;
    if (bytes < BYTES_PER_TURN) continue;
    bytes = 0;
    await letOthersIn();
  }
  const hasPrevious = integration.previousSecret !== null;
  const hasMore = found.length > others.length;
  return { cause: 'unknown', tried: { hasPrevious, others: others.length, hasMore } };
}

interface OpenedSecrets {
  /** The current one first. */
  accepted: readonly string[];
  /** The one before the last rotation, once it is no longer accepted. */
  expired: string | null;
  /** Of the organization's other integrations. */
  others: readonly { id: string; secrets: readonly string[] }[];
}

/** The cheapest first. */
export function* candidates(
  { accepted, expired, others }: OpenedSecrets,
  body: Uint8Array,
): Generator<Candidate> {
  if (expired !== null) yield { secret: expired, body, match: { cause: 'previous-secret' } };
  const [current] = accepted;
  for (const [before, after, extra] of surroundings) {
    // Skip an empty secret: anybody could sign with white space alone.
    if (current) yield { secret: before + current + after, body, match: { cause: 'whitespace', extra } };
  }
  for (const { id, secrets } of others) {
    const match = { cause: 'other-integration', integrationId: id } as const;
    for (const secret of secrets) yield { secret, body, match };
  }
  for (const [change, text] of bodyVariants(body)) {
    const cause = change === 'form-to-json' || change === 'json-to-form' ? 'form' : 'body-altered';
    const changed = Buffer.from(text);
    for (const secret of accepted) yield { secret, body: changed, match: { cause, change } };
  }
}

type Surrounding = [before: string, after: string, extra: string];

const blanks: readonly [blank: string, name: string][] = [
  ['\n', 'a line break'],
  ['\r\n', 'a line break'],
  ['\r', 'a line break'],
  [' ', 'a space'],
  ['\t', 'a tab'],
  ['\u00a0', 'a space'],
];

const surroundings: readonly Surrounding[] = [
  ...blanks.map(([blank, name]): Surrounding => ['', blank, `${name} after it`]),
  ...blanks.map(([blank, name]): Surrounding => [blank, '', `${name} before it`]),
  [' ', ' ', 'spaces around it'],
  ['"', '"', 'quotation marks around it'],
  ["'", "'", 'quotation marks around it'],
  ['`', '`', 'quotation marks around it'],
];

/**
 * Returns a function that counts searches and is false above the limits, which bound the processor time of this process.
 * Remembers one minute only.
 */
function createRate(clock: Clock): (integrationId: string) => boolean {
  let minute = '';
  const examined = new Map<string, number>();
  return (integrationId) => {
    const current = clock.now().toISOString().slice(0, 16);
    if (current !== minute) examined.clear();
    minute = current;
    const total = examined.values().reduce((sum, count) => sum + count, 0);
    const count = examined.get(integrationId) ?? 0;
    if (count >= MAX_PER_INTEGRATION || total >= MAX_PER_MINUTE) return false;
    examined.set(integrationId, count + 1);
    return true;
  };
}

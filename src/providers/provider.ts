import { timingSafeEqual } from 'node:crypto';
import type { Static, TObject } from '@sinclair/typebox';
import type { EventFacts, EventSource, EventType } from '../events/model.ts';
import { cutLine } from '../lib/text.ts';
import { findProblem, isRecord } from '../lib/validation.ts';
import type { ProviderApi } from './api.ts';
import type { IntegrationType } from './index.ts';

// The interface of a provider: its payloads and signatures, its capabilities, its words. Never the database.

export type Payload = Record<string, unknown>;

export interface Provider<Id extends string = string> extends Signing {
  /** As it stands in webhook paths. */
  readonly id: Id;
  /** As people write it. */
  readonly name: string;
  /** True when webhook paths name a repository. */
  readonly hasRepositories: boolean;
  /** True when a webhook can send the payload as the field `payload` of a form. */
  readonly sendsForms: boolean;
  /** True when it delivers to https URLs only. */
  readonly requiresHttps: boolean;
  /** How its webhooks are managed with a token; null: a person sets them up. */
  readonly api: ApiSupport | null;
  /** The events that it sends and Tidings knows, by the provider's name. All others are ignored. */
  readonly events: Readonly<Record<string, EventHandler>>;
  /** The events that triggers can listen to, each with the provider's events that its drafts are made of. */
  readonly triggerEvents: Readonly<Partial<Record<EventType, readonly string[]>>>;
  /** Payloads for test deliveries, by event, or by event and action as in `release edited`. */
  readonly samples: Readonly<Record<string, (context: SampleContext) => Payload>>;
  /** The sample to try first: an event that drafts are made of. */
  readonly exampleEvent: string;
  /** The payload of a verified body. Throws `MalformedPayload`. */
  readPayload(body: Uint8Array, contentType: string | null, now: Date): Payload;
  /** The repository of a payload; null when it names none. */
  repositoryOf(payload: Payload): { id: number; fullName: string } | null;
  readonly words: ProviderWords;
}

export interface SampleContext {
  /** `owner/name`. */
  repository: string;
  now: Date;
}

/** The API of a provider, which makes and repairs webhooks with a token. */
interface ApiSupport {
  /** Loads the client on first use: it takes longer to load than all the rest. */
  open(baseUrl: string, token: string, options: { signal: AbortSignal | undefined }): Promise<ProviderApi>;
  /** True when it lists past deliveries and sends them again on request. */
  listsDeliveries: boolean;
  /** The id of the place that stands for all places; null where a person names each. */
  allPlaces: string | null;
  words: TokenWords;
}

/** A piece of text: plain, a link, or code. */
export type Phrase = string | { text: string; href: string } | { code: string };

interface ProviderWords {
  /** The kind of place that has a webhook, and how a person names one. */
  place: { one: string; many: string; pattern: string };
  /** The scope of an integration, such as "a workspace on Linear". */
  covers: string;
  /** The steps that set up a webhook with the URL and the secret. `repository` is null for none. */
  steps(repository: string | null): Phrase[][];
  /** The same as two lines for a terminal. `repository` is null for several, or for none. */
  shortSteps(repository: string | null): string;
  /** Explains how missed deliveries come back, where the API does not list deliveries. */
  redelivery?: string;
}

interface TokenWords {
  /** The label of the field. */
  label: string;
  /** The description of `--token`: the kind of token. */
  option: string;
  /** The description of `--list`. */
  list: string;
  /** More help for the command that connects. */
  help: string;
  /** A hint below the field. `baseUrl`: the configured API; null is the public one. */
  hint(baseUrl: string | null): Phrase[];
  /** The token's owner lacks the role to manage webhooks of `place`. */
  noPermission(place: string): string;
}

/** The outcome of an event in the log: the provider's own facts, small and without e-mail addresses. */
interface Processed {
  type: string;
  action: string;
  data: Record<string, unknown>;
}

/** The result of a delivery. `title` is a headline for people: "3 commits pushed to main". */
export type EventResult =
  | { outcome: 'processed'; title: string; processed: Processed }
  | { outcome: 'ignored'; title: string; reason: string }
  | { outcome: 'ping'; title: string };

/** One event of a provider. */
export interface EventHandler {
  /** Throws `MalformedPayload` for a missing or wrong field. */
  read(payload: Payload): EventResult;
  /** Maps the data of the log to an event. Data of older versions lacks some fields. Absent: no drafts are made of it. */
  toEvent?(data: never, action: string): EventFacts;
}

/** A verified body that cannot be used: the response is 400 with this message. */
export class MalformedPayload extends Error {
  override readonly name = 'MalformedPayload';
}

/** The repository id of samples. Providers count from 1: a sample is matched by its name, and its id is never learned. */
export const SAMPLE_REPOSITORY_ID = 0;

/** A processed delivery, from the receiver or from the log. */
export interface ProcessedDelivery extends EventSource {
  integrationType: IntegrationType;
  /** `owner/name`. */
  repository: string | null;
  deliveryId: string;
  receivedAt: string;
  /** The provider's name of the event. */
  event: string;
  action: string;
  data: unknown;
}

/** Checks the payload against `schema` before `handle`. Fields beyond the schema are let through. */
export function defineEvent<Schema extends TObject, Data extends object>(
  schema: Schema,
  handle: (payload: Static<Schema>) => EventResult,
  toEvent?: (data: Data, action: string) => EventFacts,
): EventHandler {
  return {
    read(payload) {
      const problem = findProblem(schema, payload);
      if (problem !== null) throw new MalformedPayload(`${problem.field} ${problem.message}`);
      return handle(payload as Static<Schema>);
    },
    ...(toEvent && { toEvent }),
  };
}

/** Checks and reads a payload. Ignores unknown events. Throws `MalformedPayload`. */
export function parseEvent(provider: Provider, event: string, payload: Payload): EventResult {
  const handler = Object.hasOwn(provider.events, event) ? provider.events[event] : undefined;
  if (handler !== undefined) return handler.read(payload);
  return {
    outcome: 'ignored',
    title: `${provider.name} event: ${event}`,
    reason: `The event ${event} means nothing to Tidings`,
  };
}

/** A JSON object from UTF-8 bytes. Throws `MalformedPayload`. */
export function parseJsonObject(body: Uint8Array): Payload {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new MalformedPayload('the body is not JSON in UTF-8');
  }
  if (!isRecord(value)) throw new MalformedPayload('the body is not a JSON object');
  return value;
}

const MAX_TITLE_LENGTH = 200;
const MAX_REASON_LENGTH = 500;

export function processed(
  title: string,
  { type, action, data }: { type: string; action: string; data: object },
): EventResult {
  return {
    outcome: 'processed',
    title: cutLine(title, MAX_TITLE_LENGTH),
    processed: { type, action, data: { ...data } },
  };
}

/** A valid event that Tidings does not use; `reason` explains why. */
export function ignored(title: string, reason: string): EventResult {
  return {
    outcome: 'ignored',
    title: cutLine(title, MAX_TITLE_LENGTH),
    reason: cutLine(reason, MAX_REASON_LENGTH),
  };
}

// How providers sign a delivery: three headers, the last with the HMAC-SHA-256 of the raw body.

/** The headers of a delivery, read before anything is verified. */
export interface DeliveryHeaders {
  event: string;
  deliveryId: string;
  signature: string;
}

/** The names of a provider's headers, as its documentation writes them. */
interface HeaderNames {
  event: string;
  delivery: string;
  signature: string;
  /** Stands in front of the hex digits of the signature. */
  prefix: '' | 'sha256=';
}

/** How to check a delivery, and how to sign a test delivery. */
interface Signing {
  readonly headerNames: HeaderNames;
  /** The headers that the log keeps, in lower case. Never the signature. */
  readonly loggedHeaders: readonly string[];
  /** The headers, or the name of the first one that is missing or malformed. */
  readHeaders(headers: Headers): DeliveryHeaders | { missing: string };
  /** Compares in constant time. Never true for an empty secret. */
  isSigned(body: Uint8Array, signature: string, secret: string): boolean;
  /** The headers of a signed delivery. */
  sign(delivery: { event: string; deliveryId: string; body: string; secret: string }): Record<string, string>;
}

/** `otherHeaders`: further headers that the log keeps. */
export function signedBy(
  names: HeaderNames,
  { otherHeaders, userAgent }: { otherHeaders: readonly string[]; userAgent: string },
): Signing {
  return {
    headerNames: names,
    loggedHeaders: [names.event, names.delivery, ...otherHeaders].map((name) => name.toLowerCase()),

    readHeaders(headers) {
      const event = tokenHeader(headers, names.event);
      if (event === null) return { missing: names.event };
      const deliveryId = tokenHeader(headers, names.delivery);
      if (deliveryId === null) return { missing: names.delivery };
      const signature = headers.get(names.signature);
      return signature ? { event, deliveryId, signature } : { missing: names.signature };
    },

    isSigned(body, signature, secret) {
      const { prefix } = names;
      return signature.startsWith(prefix) && isHmacSha256(signature.slice(prefix.length), secret, body);
    },

    sign({ event, deliveryId, body, secret }) {
      return {
        'user-agent': userAgent,
        [names.event.toLowerCase()]: event,
        [names.delivery.toLowerCase()]: deliveryId,
        [names.signature.toLowerCase()]: names.prefix + hmacSha256(secret, body),
      };
    },
  };
}

/** Limits delivery ids and event names: both go into the database and the log. */
const TOKEN = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$/;

/** The value of a header that must be a plain token; null when it is absent, doubled or malformed. */
function tokenHeader(headers: Headers, name: string): string | null {
  const value = headers.get(name);
  return value !== null && TOKEN.test(value) ? value : null;
}

/** The HMAC-SHA-256 of the raw bytes, as lower-case hex. Throws for an empty secret, which would sign for anybody. */
export function hmacSha256(secret: string, body: Uint8Array | string): string {
  if (secret === '') throw new Error('an empty secret signs nothing');
  return new Bun.CryptoHasher('sha256', secret).update(body).digest('hex');
}

/**
 * Compares `hex` with the body's HMAC in constant time. Anything but 64 lower-case digits is wrong, not an error; an
 * empty secret never verifies.
 */
function isHmacSha256(hex: string, secret: string, body: Uint8Array): boolean {
  if (secret === '' || !/^[0-9a-f]{64}$/.test(hex)) return false;
  return timingSafeEqual(Buffer.from(hex, 'latin1'), Buffer.from(hmacSha256(secret, body), 'latin1'));
}

import { timingSafeEqual } from 'node:crypto';
import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler';
import { JsonTooLarge, parseJsonInTurns } from '../lib/json.ts';
import { cutBytes, cutLine, cutText, MAX_BODY_LENGTH } from '../lib/text.ts';
import { DAY_MS, parseTime, turns } from '../lib/time.ts';
import { findProblem } from '../lib/validation.ts';
import type { ApiSupport } from './api.ts';
import type { AppSupport } from './app.ts';
import type { Event, EventFacts, EventSource, EventType } from './events.ts';
import type { IntegrationType } from './index.ts';
import type { ReadDelivery, ReaderSupport } from './reader.ts';
import type { Samples } from './samples.ts';

// The interface of a provider, and the parts that all share: signing a delivery, reading its payload.

export type Payload = Record<string, unknown>;

export interface Provider<Id extends string = string> extends Signing {
  /** As it stands in webhook paths. */
  readonly id: Id;
  /** As people write it. */
  readonly name: string;
  readonly hasRepositories: boolean;
  /** True when a webhook can send the payload as the field `payload` of a form. */
  readonly sendsForms: boolean;
  /** True when it delivers to https URLs only. */
  readonly requiresHttps: boolean;
  /** True when a release may be dated in the future: its draft waits for that time. */
  readonly datesReleasesAhead?: boolean;
  /** The sign before the number of a pull request, as in `group/name!12`; absent: `#`. */
  readonly requestMark?: '!';
  /** True for the full name of a repository, such as `owner/name`. */
  isRepositoryName(name: string): boolean;
  /**
   * The name of a repository or a team that a person typed or pasted. Turns the URL of a repository into `owner/name`.
   * `apiUrl`: the configured API; undefined is the public one. Throws `AppError` 400 for a URL of something else.
   */
  placeName(text: string, apiUrl: string | undefined): string;
  /** How its webhooks are managed with a token; null: a person sets them up. */
  readonly api: ApiSupport | null;
  /** How its repositories are read, for history and polling; null: they cannot be. */
  readonly reader: ReaderSupport | null;
  /** How an App stands in for a token; absent: it has none. */
  readonly app?: AppSupport;
  /** The events that it sends and Tidings knows, by the provider's name. All others are ignored. */
  readonly events: Readonly<Record<string, EventHandler>>;
  /** The events that triggers can listen to, each with the provider's events that its drafts are made of. */
  readonly triggerEvents: Readonly<Partial<Record<EventType, readonly string[]>>>;
  /** Payloads for test deliveries, by event, or by event and action as in `release edited`. */
  readonly samples: Samples;
  /** The sample to try first: an event that drafts are made of. */
  readonly exampleEvent: string;
  /** The payload of a verified body. Throws `MalformedPayload`. */
  readPayload(body: Uint8Array, contentType: string | null, now: Date): Promise<Payload>;
  repositoryOf(payload: Payload): { id: number; fullName: string } | null;
  readonly words: {
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
    /** Explains why no heartbeat tries the way from the provider; absent: one does. */
    noHeartbeat?: string;
  };
}

/** A piece of text: plain, a link, or code. */
export type Phrase = string | { text: string; href: string } | { code: string };

/** The result of a delivery. `title` is a headline for people: "3 commits pushed to main". */
export type EventResult =
  /** `data`: the provider's own facts, for the log: small and without email addresses. */
  | { outcome: 'processed'; title: string; processed: { type: string; action: string; data: Payload } }
  | { outcome: 'ignored'; title: string; reason: string }
  | { outcome: 'ping'; title: string };

export interface EventHandler {
  /** The provider's actions that drafts are made of; absent: all. */
  actions?: readonly string[];
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

export interface ProcessedDelivery extends EventSource {
  integrationType: IntegrationType;
  /** `owner/name`. */
  repository: string | null;
  deliveryId: string;
  receivedAt: string;
  event: string;
  action: string;
  data: Payload;
}

/** Checks the payload against `schema` before `handle`. Fields beyond the schema are let through. */
export function defineEvent<Schema extends TObject, Data extends object>(
  schema: Schema,
  handle: (payload: Static<Schema>) => EventResult,
  toEvent?: (data: Data, action: string) => EventFacts,
): EventHandler {
  let compiled: TypeCheck<Schema> | undefined;
  return {
    read(payload) {
      compiled ??= TypeCompiler.Compile(schema);
      if (compiled.Check(payload)) return handle(payload);
      const problem = findProblem(schema, payload);
      throw new MalformedPayload(`${problem?.field} ${problem?.message}`);
    },
    ...(toEvent && { toEvent }),
  };
}

const handlerOf = ({ events }: Provider, event: string) =>
  Object.hasOwn(events, event) ? events[event] : undefined;

/** Checks and reads a payload. Ignores unknown events. Throws `MalformedPayload`. */
export function parseEvent(provider: Provider, event: string, payload: Payload): EventResult {
  return (
    handlerOf(provider, event)?.read(payload) ?? {
      outcome: 'ignored',
      title: `${provider.name} event: ${event}`,
      reason: `Tidings does not use the event ${event}`,
    }
  );
}

/**
 * The event of a processed delivery, new or from the log; null for one that no drafts are made of, such as a star. It
 * happened at the first time that can be read, or else when it was received.
 */
export function eventOf(
  provider: Provider,
  delivery: Omit<ProcessedDelivery, keyof EventSource | 'integrationType'>,
): Event | null {
  const { event: name, action, data, repository, deliveryId, receivedAt } = delivery;
  const facts = handlerOf(provider, name)?.toEvent?.(data as never, action);
  if (facts === undefined) return null;
  const { times, ...event } = facts;
  let occurredAt: string | null = null;
  for (const time of times) occurredAt ??= isoTime(time);
  const key = cutBytes(event.key, MAX_KEY_BYTES);
  const branch = event.branch && cutBytes(event.branch, MAX_KEY_BYTES);
  return { ...event, key, branch, repository, deliveryId, occurredAt: occurredAt ?? receivedAt } as Event;
}

/** The event of a delivery that was read instead of sent; null for one that brings none. Throws `MalformedPayload`. */
export function eventIn(
  provider: Provider,
  { event, payload }: ReadDelivery,
  source: Pick<ProcessedDelivery, 'repository' | 'deliveryId' | 'receivedAt'>,
): Event | null {
  const result = parseEvent(provider, event, payload);
  if (result.outcome !== 'processed') return null;
  const { action, data } = result.processed;
  return eventOf(provider, { ...source, event, action, data });
}

/** The same. Null also for a delivery that cannot be read: it must not keep others from being read. */
export function readableEventIn(...given: Parameters<typeof eventIn>): Event | null {
  try {
    return eventIn(...given);
  } catch (error) {
    if (error instanceof MalformedPayload) return null;
    throw error;
  }
}

/**
 * The names of a tag and of a branch together are the key of a draft, and a key of PostgreSQL has room for 2,700 bytes.
 * Code hosts limit such names to 255 bytes, and ids of trackers have 36.
 */
const MAX_KEY_BYTES = 1_000;

const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/** A JSON object from UTF-8 bytes. Lets others in while it reads a large one. Throws `MalformedPayload`. */
export async function parseJsonObject(body: Uint8Array): Promise<Payload> {
  let value: unknown;
  try {
    const turn = turns();
    const text = strictUtf8.decode(body);
    await turn();
    value = await parseJsonInTurns(text);
  } catch (error) {
    if (error instanceof JsonTooLarge) throw new MalformedPayload(`the body ${error.message}`);
    throw new MalformedPayload('the body is not JSON in UTF-8');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Payload;
  throw new MalformedPayload('the body is not a JSON object');
}

const MAX_TITLE_LENGTH = 200;
const MAX_REASON_LENGTH = 500;

export function processed(title: string, type: string, action: string, data: Payload): EventResult {
  return { outcome: 'processed', title: cutLine(title, MAX_TITLE_LENGTH), processed: { type, action, data } };
}

/** A valid event that Tidings does not use; `reason` explains why. */
export function ignored(title: string, reason: string): EventResult {
  return {
    outcome: 'ignored',
    title: cutLine(title, MAX_TITLE_LENGTH),
    reason: cutLine(reason, MAX_REASON_LENGTH),
  };
}

const MAX_LINE_LENGTH = 1000;
const MAX_URL_LENGTH = 2000;

/** The log keeps so many entries of a list. */
export const MAX_LIST_LENGTH = 100;

/** A field that may be null or absent. `expected` names its type in the refusal. */
export const maybe = <Schema extends TSchema>(schema: Schema, expected: string) =>
  Type.Optional(Type.Union([schema, Type.Null()], { errorMessage: `must be ${expected} or null` }));

const MaybeText = maybe(Type.String(), 'text');
export const Maybe = {
  Text: MaybeText,
  Number: maybe(Type.Number(), 'a number'),
  Boolean: maybe(Type.Boolean(), 'true, false'),
  Names: maybe(Type.Array(Type.Object({ name: MaybeText })), 'a list of things with names'),
};
export type Maybe<Value> = Value | null | undefined;

export const Action = Type.String({ minLength: 1 });

/** Turns a field of a payload into one of the log. Both absent and null become null. */
export const read = {
  /** An id, a name, a title: one line, empty when there is nothing in it. */
  text: (value: string) => cutLine(value, MAX_LINE_LENGTH),

  /** A name, a title, a time that may be missing. Null when there is nothing in it. */
  line: (value: Maybe<string>) => cutLine(value ?? '', MAX_LINE_LENGTH) || null,

  /** Notes, a description, a body. Null when there is nothing in it. */
  body: (value: Maybe<string>) => (value?.trim() ? cutText(value, MAX_BODY_LENGTH) : null),

  /** A URL that a page may link to; null for anything else, above all `javascript:`. */
  url: (value: Maybe<string>) =>
    value && value.length <= MAX_URL_LENGTH && /^https?:\/\/\S+$/.test(value) ? value : null,

  /** A person's name or login. Cuts an email address at its `@`. */
  person: (value: Maybe<string>) => read.line(value?.replace(/^([^\s@]+)@[^\s@]+$/, '$1')),

  /** The names of labels and the like, the first hundred of them. */
  names: (values: Maybe<readonly { name?: string | null }[]>): string[] =>
    (values ?? []).slice(0, MAX_LIST_LENGTH).flatMap(({ name }) => read.line(name) ?? []),
};

/** A time as ISO 8601 in UTC with milliseconds. */
export function isoTime(time: Maybe<string>): string | null {
  return time ? (parseTime(time)?.toISOString() ?? null) : null;
}

/** Sorts later edits after earlier ones; at the same time, by rank. */
export function versionOf(updatedAt: Maybe<string>, rank = 0): string {
  return `${isoTime(updatedAt) ?? ''} ${rank}`;
}

/** The headers of a delivery, read before anything is verified. */
export interface DeliveryHeaders extends Record<'event' | 'deliveryId' | 'signature', string> {
  /** The time of the signature, if that covers it. The receiver refuses an old one. */
  signedAt?: Date;
}

interface HeaderNames {
  event: string;
  delivery: string;
  signature: string;
  /** Stands in front of the hex digits of the signature. */
  prefix: '' | 'sha256=';
}

/** How a provider proves that a delivery comes from it. */
export interface Signing {
  readonly headerNames: HeaderNames;
  /** Describes the headers for the API reference, where they are others than these three. */
  readonly headerDocs?: Readonly<Record<string, string>>;
  /** The headers that the log keeps, in lower case. Never the signature. */
  readonly loggedHeaders: readonly string[];
  /** The headers, or the name of the first one that is missing or malformed. */
  readHeaders(headers: Headers): DeliveryHeaders | { missing: string };
  /** Compares in constant time. Never true for an empty secret. */
  isSigned(body: Uint8Array, signature: string, secret: string): boolean;
  /** The headers of a signed delivery. `now`: for a provider that signs the time. */
  sign(delivered: {
    event: string;
    deliveryId: string;
    body: string | Uint8Array;
    secret: string;
    now: Date;
  }): Record<string, string>;
}

/**
 * How most providers sign a delivery: three headers, the last with the HMAC-SHA-256 of the raw body. `otherHeaders`:
 * further headers that the log keeps.
 */
export function signedBy(
  headerNames: HeaderNames,
  userAgent: string,
  otherHeaders: readonly string[],
): Signing {
  const { event: eventName, delivery, signature: signatureName, prefix } = headerNames;
  return {
    headerNames,
    loggedHeaders: [eventName, delivery, ...otherHeaders].map((name) => name.toLowerCase()),

    readHeaders(headers) {
      const event = tokenHeader(headers, eventName);
      if (event === null) return { missing: eventName };
      const deliveryId = tokenHeader(headers, delivery);
      if (deliveryId === null) return { missing: delivery };
      const signature = headers.get(signatureName);
      return signature ? { event, deliveryId, signature } : { missing: signatureName };
    },

    isSigned(body, signature, secret) {
      const hex = signature.slice(prefix.length);
      if (secret === '' || !signature.startsWith(prefix) || !/^[0-9a-f]{64}$/.test(hex)) return false;
      return timingSafeEqual(Buffer.from(hex, 'latin1'), Buffer.from(hmacSha256(secret, body), 'latin1'));
    },

    sign(delivered) {
      return {
        'user-agent': userAgent,
        [eventName.toLowerCase()]: delivered.event,
        [delivery.toLowerCase()]: delivered.deliveryId,
        [signatureName.toLowerCase()]: prefix + hmacSha256(delivered.secret, delivered.body),
      };
    },
  };
}

/** The clock of a provider may be ahead by this much, in milliseconds. */
const MAX_AHEAD_MS = 60_000;

/** Refuses what was signed a day ago: delivery ids are remembered for as long as this. `what`: "webhookTimestamp". */
export function requireFresh(what: string, signedAt: number, now: Date): void {
  const ageMs = now.getTime() - signedAt;
  if (ageMs < -MAX_AHEAD_MS) throw new MalformedPayload(`${what} is more than a minute ahead`);
  if (ageMs > DAY_MS) throw new MalformedPayload(`${what} is more than a day old`);
}

/** Limits delivery ids and event names: both go into the database and the log. */
const TOKEN = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$/;

/** The value of a header that must be a plain token; null when it is absent, doubled or malformed. */
export function tokenHeader(headers: Headers, name: string): string | null {
  const value = headers.get(name);
  return value !== null && TOKEN.test(value) ? value : null;
}

/** The HMAC-SHA-256 of the raw bytes, as lower-case hex. Throws for an empty secret, which would sign for anybody. */
export function hmacSha256(secret: string, body: Uint8Array | string): string {
  if (secret === '') throw new Error('an empty secret signs nothing');
  return new Bun.CryptoHasher('sha256', secret).update(body).digest('hex');
}

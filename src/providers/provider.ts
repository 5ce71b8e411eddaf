import type { Static, TObject } from '@sinclair/typebox';
import type { EventFacts, EventSource, EventType } from '../events/model.ts';
import { cutLine } from '../lib/text.ts';
import { findProblem, isRecord } from '../lib/validation.ts';
import type { ProviderApi } from './api.ts';
import type { IntegrationType } from './index.ts';
import type { Signing } from './signature.ts';

// The interface of a provider: its payloads and signatures, its capabilities, its words. Never the database.

export type { DeliveryHeaders } from './signature.ts';

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
  /** Checks the payload; the function that it returns reads it. Throws `MalformedPayload` for a missing or wrong field. */
  prepare(payload: Payload): () => EventResult;
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
    prepare(payload) {
      const problem = findProblem(schema, payload);
      if (problem !== null) throw new MalformedPayload(`${problem.field} ${problem.message}`);
      return () => handle(payload as Static<Schema>);
    },
    ...(toEvent && { toEvent }),
  };
}

/** Checks a payload; the function that it returns reads it. Ignores unknown events. Throws `MalformedPayload`. */
export function prepareEvent(provider: Provider, event: string, payload: Payload): () => EventResult {
  const handler = Object.hasOwn(provider.events, event) ? provider.events[event] : undefined;
  if (handler !== undefined) return handler.prepare(payload);
  return () => ({
    outcome: 'ignored',
    title: `${provider.name} event: ${event}`,
    reason: `The event ${event} means nothing to Tidings`,
  });
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

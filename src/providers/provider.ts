import type { Static, TObject } from '@sinclair/typebox';
import type { EventType } from '../events/model.ts';
import { findProblem } from '../lib/validation.ts';

// What the receiver knows of a provider. Providers know payloads and signatures, never the database.

/** What a delivery says of itself in its headers, before anything is verified. */
export interface DeliveryHeaders {
  event: string;
  deliveryId: string;
  signature: string;
}

/** What an event came to, in our own words: small, typed, the same for every provider of its kind. */
interface Processed {
  type: string;
  action: string;
  data: Record<string, unknown>;
}

/** What to do about a delivery. `title` says what happened, as people would: "3 commits pushed to main". */
export type EventResult =
  | { outcome: 'processed'; title: string; processed: Processed }
  | { outcome: 'ignored'; title: string; reason: string }
  | { outcome: 'ping'; title: string };

/** One event of a provider: what its payload must hold, and what it comes to. */
export interface EventHandler {
  /** Throws `MalformedPayload` when a field that `handle` needs is missing or wrong. */
  prepare(payload: Record<string, unknown>): () => EventResult;
}

export interface Provider<Id extends string = string> {
  /** As it stands in webhook paths. */
  readonly id: Id;
  /** As people write it. */
  readonly name: string;
  /** Whether a webhook path must name a repository. */
  readonly hasRepositories: boolean;
  /** Whether a webhook can send the payload as the field `payload` of a form. */
  readonly sendsForms: boolean;
  readonly events: Readonly<Record<string, EventHandler>>;
  /** The events that triggers can listen to, each with the hook events that its drafts are made of. */
  readonly triggerEvents: Readonly<Partial<Record<EventType, readonly string[]>>>;
  /** The headers that are worth keeping, in lower case. Never one that holds a signature. */
  readonly toldHeaders: readonly string[];
  /** The headers, or the name of the first one that is missing or malformed. */
  readHeaders(headers: Headers): DeliveryHeaders | { missing: string };
  /** Whether the signature is this body's under this secret. Constant time; never true for an empty secret. */
  isSigned(body: Uint8Array, signature: string, secret: string): boolean;
  /** The payload of a body that was verified. Throws `MalformedPayload`. */
  readPayload(body: Uint8Array, contentType: string | null, now: Date): Record<string, unknown>;
  /** The repository that a payload is about, where it names one. */
  repositoryOf(payload: Record<string, unknown>): { id: number; fullName: string } | null;
}

/** The repository id of samples. Providers count from 1: a sample is matched by its name, and its id is never learned. */
export const SAMPLE_REPOSITORY_ID = 0;

/** A verified body that cannot be used: the answer is 400, and the message says what is wrong with it. */
export class MalformedPayload extends Error {
  override readonly name = 'MalformedPayload';
}

/** An event handler whose payload is checked against `schema` first. Fields beyond the schema are let through. */
export function defineEvent<Schema extends TObject>(
  schema: Schema,
  handle: (payload: Static<Schema>) => EventResult,
): EventHandler {
  return {
    prepare(payload) {
      const problem = findProblem(schema, payload);
      if (problem !== null) throw new MalformedPayload(`${problem.field} ${problem.message}`);
      return () => handle(payload as Static<Schema>);
    },
  };
}

/**
 * Reads the event as its handler does. An event that the provider's table does not have is ignored, whatever
 * its payload. Throws `MalformedPayload`.
 */
export function prepareEvent(
  provider: Provider,
  event: string,
  payload: Record<string, unknown>,
): () => EventResult {
  const handler = Object.hasOwn(provider.events, event) ? provider.events[event] : undefined;
  if (handler !== undefined) return handler.prepare(payload);
  return () => ({
    outcome: 'ignored',
    title: `${provider.name} event: ${event}`,
    reason: `The event ${event} means nothing to Tidings`,
  });
}

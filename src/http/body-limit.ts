import type { Metrics } from '../lib/instruments.ts';
import { declaresTooMuch, UploadBudget } from '../lib/upload.ts';
import { type Fetch, pathOf } from './request-log.ts';
import { errorJson } from './respond.ts';

/** No provider sends more, and nothing else is sent to us at all. */
export const MAX_BODY_BYTES = 25 * 1024 * 1024;

/** How long a sender may take before it is verified. Providers give up after 5 to 10 s. */
export const UNVERIFIED_UPLOAD_MS = 15_000;

/** Two of the largest deliveries, and room for small ones. */
const MAX_UNVERIFIED_BYTES = 64 * 1024 * 1024;

/** The memory that bodies of all unverified senders share, and its metric. */
export function createUploadBudget({ registry }: Pick<Metrics, 'registry'>): UploadBudget {
  const budget = new UploadBudget(MAX_UNVERIFIED_BYTES);
  registry.gauge(
    'tidings_unverified_upload_bytes',
    'Bytes of unfinished uploads whose sender is not verified yet. At 64 MiB the largest is refused with 503.',
    () => budget.bytes,
  );
  return budget;
}

/** Who reads bodies refuses a large one itself, and writes that down. */
const READS_BODIES = '/api/webhooks/';

/** Refuses a body that says itself that it is too large, on every path. Nobody reads one that does not. */
export function withBodyLimit(fetch: Fetch): Fetch {
  return (request) => {
    if (!declaresTooMuch(request.headers, MAX_BODY_BYTES) || pathOf(request).startsWith(READS_BODIES))
      return fetch(request);
    return errorJson(413, 'Payload too large');
  };
}

import type { HookSettings } from '../../src/providers/api.ts';
import { problemOf as providerProblemOf } from './problem-of.ts';

// Parts that the stand-ins for code hosts share.

export interface RecordedRequest {
  method: string;
  /** Below the API. */
  path: string;
  query: Record<string, string>;
  body: unknown;
  /** The header's value, to see that a token went nowhere else. */
  authorization: string | null;
  status: number;
}

export type Respond = (request: Request) => Response | Promise<Response>;

export interface FaultCounts {
  /** The number of requests that fail; 1 by default. */
  times?: number;
  /** The number of requests that succeed before; 0 by default. */
  after?: number;
}

/** Requests that a test wants to fail. */
export function planFaults() {
  const planned: { respond: Respond; times: number; after: number }[] = [];
  return {
    add(respond: Respond, { times = 1, after = 0 }: FaultCounts = {}): void {
      planned.push({ respond, times, after });
    },
    /** The fault of this request, if it has one. */
    next(): Respond | null {
      const [first] = planned;
      if (first === undefined || first.after-- > 0) return null;
      if (--first.times <= 0) planned.shift();
      return first.respond;
    },
  };
}

/** Records the requests below `base`, and answers those that no test wants to fail. */
export function recordRequests(
  base: string,
  answer: (request: Request, url: URL, body: unknown) => Promise<Response>,
) {
  const requests: RecordedRequest[] = [];
  const faults = planFaults();
  return {
    requests,
    failNext: faults.add,
    async respond(request: Request): Promise<Response> {
      const url = new URL(request.url);
      const text = await request.text();
      const record: RecordedRequest = {
        method: request.method,
        path: decodeURIComponent(url.pathname.replace(base, '')),
        query: Object.fromEntries(url.searchParams),
        body: text === '' ? null : JSON.parse(text),
        authorization: request.headers.get('authorization'),
        status: 0,
      };
      requests.push(record);
      const response = await (faults.next()?.(request) ?? answer(request, url, record.body));
      record.status = response.status;
      return response;
    },
  };
}

/** Sends a delivery. Null when nobody answered. */
export async function sendDelivery(
  url: string,
  headers: HeadersInit,
  body: string,
): Promise<Response | null> {
  const signal = AbortSignal.timeout(10_000);
  try {
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal });
    await response.body?.cancel();
    return response;
  } catch {
    return null;
  }
}

export const SECRET = 'the-secret-of-the-webhook';
export const settingsFor = (...events: string[]): HookSettings => ({
  url: 'http://127.0.0.1:1/hook',
  secret: SECRET,
  events,
});

/** The failure of a call, after a check that it holds no secret. */
export async function problemOf(call: Promise<unknown>, ...secrets: string[]) {
  const { kind, message, retryAt } = await providerProblemOf(call, [SECRET, ...secrets]);
  return { kind, message, retryAt };
}

export const shaOf = (number: number) => number.toString(16).padStart(40, 'a');

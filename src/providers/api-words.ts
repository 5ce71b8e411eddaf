import type { ApiService } from './api-fetch.ts';

/** The subject of a request, for the sentences about it. */
export interface Subject<Use extends string> {
  /** A repository or a project; null for all that the token can see. */
  place: string | null;
  service: ApiService;
  /** The site that belongs to the API, such as `https://github.com`. */
  web: string;
  /** The use of the token; null without one. */
  token: Use | null;
}

type Place = Pick<Subject<never>, 'place'>;

export const untilTime = (time: Date) => time.toISOString().replace('.000Z', 'Z');

/** The sentences of every code host's problems: what happened, then what to do. */
export const commonWords = (name: string, setting: string) => ({
  otherShape: (expected: string) =>
    `${name} sent an unexpected response instead of ${expected}. Check ${setting}.`,
  listTooSlow: ({ place }: Place) =>
    `${name} took too long to list the webhooks of ${place}. Try again later.`,
  refused: (status: number, reason: string) =>
    `${name} rejected the request with status ${status}: ${reason}`,
  tokenRequired: ({ service }: { service: ApiService }) =>
    `The server at ${service.address} answers no requests without a token. Use a token.`,
  badName: ({ place }: Place) =>
    `A repository has the form OWNER/NAME, such as acme/rocket, not ${String(place).slice(0, 200)}`,
  badRef: (ref: string) => `${ref.slice(0, 200)} cannot be a tag, a branch or a commit`,
  noBranch: ({ place }: Place, branch: string) => `${place} has no branch ${branch}`,
  noHook: ({ place }: Place, hookId: string) => `The webhook ${hookId} of ${place} no longer exists`,
  noAttempt: (place: string, attemptId: string) =>
    `${name} no longer has the delivery ${attemptId} of ${place}, or its webhook`,
});

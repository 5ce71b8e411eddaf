import type { ApiService } from '../../api-fetch.ts';

/** The subject of a request, for the sentences about it. */
export interface Subject {
  /** A repository; null for all that the token can see. */
  place: string | null;
  service: ApiService;
  /** The site that belongs to the API, such as `https://codeberg.org`. */
  web: string;
  /** Null: the request has no token. */
  token: 'for webhooks' | 'for reading' | null;
}

const SCOPES = {
  'for webhooks': 'the scopes write:repository and read:user',
  'for reading': 'the scope read:repository',
};

const scopesFor = ({ token }: Subject) => SCOPES[token ?? 'for reading'];
const tokensPage = ({ web }: Subject) => `${web}/user/settings/applications`;
const untilTime = (time: Date) => time.toISOString().replace('.000Z', 'Z');

/** The sentences of Forgejo's problems: what happened, then what to do. */
export const words = {
  otherShape: (expected: string) =>
    `Forgejo sent an unexpected response instead of ${expected}. Check FORGEJO_API_URL.`,
  listTooSlow: ({ place }: Subject) =>
    `Forgejo took too long to list the webhooks of ${place}. Try again later.`,

  failed: ({ service }: Subject, status: number) =>
    `Forgejo at ${service.address} failed with status ${status}. Try again later.`,
  rateLimited: ({ token }: Subject, retryAt: Date) =>
    `Forgejo accepts no more requests ${token === null ? 'without a token' : 'from this token'} until ${untilTime(retryAt)}. Try again then.`,
  refused: (status: number, reason: string) =>
    `Forgejo rejected the request with status ${status}: ${reason}`,

  badToken: (subject: Subject) =>
    `Forgejo rejected the token: it is unknown, revoked or expired. Create a new one with ${scopesFor(subject)} at ${tokensPage(subject)}.`,
  tokenRequired: ({ service }: Subject) =>
    `The server at ${service.address} answers no requests without a token. Use a token.`,
  noScope: (subject: Subject) =>
    `The token needs ${scopesFor(subject)}. Create a new one at ${tokensPage(subject)}.`,
  publicOnly: (subject: Subject) =>
    `The token can see public repositories only. Create a new one for all repositories at ${tokensPage(subject)}.`,
  noAdmin: ({ place }: Subject) =>
    `The token's owner does not administer ${place}, which webhooks need. Ask for administrator access, or use the token of somebody who has it.`,
  noAccess: ({ place }: Subject, reason: string) =>
    `Forgejo denied access${place === null ? '' : ` to ${place}`}: ${reason}`,
  noWebhooks: ({ service }: Subject) =>
    `The administrator of ${service.address} has disabled webhooks. Ask for them, or poll instead.`,

  badName: ({ place }: Subject) =>
    `A repository has the form OWNER/NAME, such as acme/rocket, not ${String(place).slice(0, 200)}`,
  noPlace: ({ place, token, service }: Subject) =>
    token === null
      ? `The server at ${service.address} has no public repository ${place}. Check the name and FORGEJO_API_URL; a private repository needs a token.`
      : `The server at ${service.address} has no repository ${place} that the token can see. Check the name, FORGEJO_API_URL, and the access of the token's owner.`,
  noBranch: ({ place }: Subject, branch: string) => `${place} has no branch ${branch}`,
  badRef: (ref: string) => `${ref.slice(0, 200)} cannot be a tag, a branch or a commit`,
  noRef: ({ place }: Subject, ref: string) => `${place} has no tag, branch or commit ${ref}`,
  isEmpty: ({ place }: Subject) => `${place} has no commits yet`,
  noHook: ({ place }: Subject, hookId: string) => `The webhook ${hookId} of ${place} no longer exists`,
  badUrl: (reason: string) =>
    `Forgejo rejected the webhook's URL: ${reason}. Set PUBLIC_URL to an address that Forgejo can reach.`,
};

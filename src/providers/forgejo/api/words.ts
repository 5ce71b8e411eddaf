import { type Subject as CommonSubject, commonWords, untilTime } from '../../api-words.ts';

export type Subject = CommonSubject<'for webhooks' | 'for reading'>;

const SCOPES = {
  'for webhooks': 'the scopes write:repository and read:user',
  'for reading': 'the scope read:repository',
};

const scopesFor = ({ token }: Subject) => SCOPES[token ?? 'for reading'];
const tokensPage = ({ web }: Subject) => `${web}/user/settings/applications`;

/** The sentences of Forgejo's problems: what happened, then what to do. */
export const words = {
  ...commonWords('Forgejo', 'FORGEJO_API_URL'),

  failed: ({ service }: Subject, status: number) =>
    `Forgejo at ${service.address} failed with status ${status}. Try again later.`,
  rateLimited: ({ token }: Subject, retryAt: Date) =>
    `Forgejo accepts no more requests ${token === null ? 'without a token' : 'from this token'} until ${untilTime(retryAt)}. Try again then.`,

  badToken: (subject: Subject) =>
    `Forgejo rejected the token: it is unknown, revoked or expired. Create a new one with ${scopesFor(subject)} at ${tokensPage(subject)}.`,
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

  noPlace: ({ place, token, service }: Subject) =>
    token === null
      ? `The server at ${service.address} has no public repository ${place}. Check the name and FORGEJO_API_URL; a private repository needs a token.`
      : `The server at ${service.address} has no repository ${place} that the token can see. Check the name, FORGEJO_API_URL, and the access of the token's owner.`,
  noRef: ({ place }: Subject, ref: string) => `${place} has no tag, branch or commit ${ref}`,
  isEmpty: ({ place }: Subject) => `${place} has no commits yet`,
  badUrl: (reason: string) =>
    `Forgejo rejected the webhook's URL: ${reason}. Set PUBLIC_URL to an address that Forgejo can reach.`,
};

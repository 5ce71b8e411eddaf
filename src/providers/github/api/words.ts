import type { ApiService } from '../../api-fetch.ts';

/** The subject of a request, for the sentences about it. */
export interface Subject {
  /** A repository; null for all that the token can see. */
  place: string | null;
  service: ApiService;
  /** The site that belongs to the API, such as `https://github.com`. */
  web: string;
}

const PERMISSION = '"Webhooks: read and write" (classic: the scope admin:repo_hook)';

const mayNot = (place: string | null) => `The token can't manage the webhooks of ${place}`;
const hooksPage = ({ web, place }: Subject) => `${web}/${place}/settings/hooks`;

/** The sentences of GitHub's problems: what happened, then what to do. */
export const words = {
  otherShape: (expected: string) =>
    `GitHub sent an unexpected response instead of ${expected}. Check GITHUB_API_URL.`,
  listTooSlow: ({ place }: Subject) =>
    `GitHub took too long to list the webhooks of ${place}. Try again later.`,

  failed: ({ web }: Subject, status: number) =>
    `GitHub failed with status ${status}. Try again later.${web === 'https://github.com' ? ' See https://www.githubstatus.com.' : ''}`,
  rateLimited: (retryAt: Date) =>
    `GitHub accepts no more requests from this token until ${retryAt.toISOString().replace('.000Z', 'Z')}. Try again then.`,
  refused: (status: number, reason: string) => `GitHub rejected the request with status ${status}: ${reason}`,

  badToken: ({ web }: Subject) =>
    `GitHub rejected the token: it is unknown, revoked or expired. Create a new one at ${web}/settings/personal-access-tokens with the repository permission ${PERMISSION}.`,
  ssoRequired: ({ place, web }: Subject) =>
    `${place === null ? 'An organization' : `The organization ${place.split('/')[0]}`} requires single sign-on for this token. Authorize the token for it at ${web}/settings/tokens ("Configure SSO"), then try again.`,
  noPermission: ({ place, web }: Subject) =>
    place === null
      ? `The token can't list repositories. Choose its repositories at ${web}/settings/personal-access-tokens.`
      : `${mayNot(place)}: it needs the repository permission ${PERMISSION}. Change it at ${web}/settings/personal-access-tokens.`,
  noScope: ({ place, web }: Subject) =>
    `${mayNot(place)}: it lacks the scope admin:repo_hook. Add it at ${web}/settings/tokens.`,
  noAdmin: ({ place }: Subject) =>
    `The token's owner does not have the role Admin in ${place}, which webhooks need. Ask for the role, or use the token of somebody who has it.`,

  badName: ({ place }: Subject) =>
    `A repository has the form OWNER/NAME, such as acme/rocket, not ${String(place).slice(0, 200)}`,
  noPlace: ({ place }: Subject) =>
    `GitHub has no repository ${place} that the token can see. Check the name, and the repositories that the token may access.`,
  noHook: ({ place }: Subject, hookId: string) => `The webhook ${hookId} of ${place} no longer exists`,
  noAttempt: (place: string, attemptId: string) =>
    `GitHub no longer has the delivery ${attemptId} of ${place}, or its webhook`,
  hookExists: (subject: Subject) =>
    `${subject.place} has a webhook with this URL already. Delete it at ${hooksPage(subject)}, then try again.`,
  tooManyHooks: (subject: Subject, reason: string) =>
    `GitHub rejected another webhook for ${subject.place}: ${reason}. Delete one that you do not need at ${hooksPage(subject)}, then try again.`,
  unreachableUrl: (reason: string) =>
    `GitHub rejected the webhook: ${reason}. Set PUBLIC_URL to an address that GitHub can reach.`,
};

import type { ApiService } from '../../api-fetch.ts';

/** The subject of a request, for the sentences about it. */
export interface Subject {
  /** A repository; null for all that the token can see. */
  place: string | null;
  service: ApiService;
  /** The site that belongs to the API, such as `https://github.com`. */
  web: string;
  /** Null: the request needs no token, and has none. */
  token: 'for webhooks' | 'for reading' | 'of an App' | null;
}

const PERMISSIONS = {
  'for webhooks': 'the repository permission "Webhooks: read and write" (classic: the scope admin:repo_hook)',
  'for reading':
    'the repository permissions "Contents: read" and "Pull requests: read" (classic: the scope repo)',
  'of an App': 'the repository permissions "Contents: read" and "Pull requests: read"',
};

const permissionsFor = ({ token }: Subject) => PERMISSIONS[token ?? 'for reading'];
const mayNot = ({ place, token }: Subject) =>
  token === 'for webhooks'
    ? `The token can't manage the webhooks of ${place}`
    : `The token can't read ${place}`;
const untilTime = (time: Date) => time.toISOString().replace('.000Z', 'Z');
const hooksPage = ({ web, place }: Subject) => `${web}/${place}/settings/hooks`;

/** The sentences of GitHub's problems: what happened, then what to do. */
export const words = {
  otherShape: (expected: string) =>
    `GitHub sent an unexpected response instead of ${expected}. Check GITHUB_API_URL.`,
  listTooSlow: ({ place }: Subject) =>
    `GitHub took too long to list the webhooks of ${place}. Try again later.`,

  failed: ({ web }: Subject, status: number) =>
    `GitHub failed with status ${status}. Try again later.${web === 'https://github.com' ? ' See https://www.githubstatus.com.' : ''}`,
  rateLimited: ({ token }: Subject, retryAt: Date) =>
    token === null
      ? `GitHub accepts no more requests without a token until ${untilTime(retryAt)}. Try again then, or use a token.`
      : `GitHub accepts no more requests from this ${token === 'of an App' ? 'App' : 'token'} until ${untilTime(retryAt)}. Try again then.`,
  refused: (status: number, reason: string) => `GitHub rejected the request with status ${status}: ${reason}`,

  badKey: (slug: string) =>
    `GitHub rejected the private key of the App ${slug}: somebody deleted the key, or the clock of this server is wrong. Create a new key in the App's settings, and replace the old one here.`,
  notInstalled: (slug: string, web: string) =>
    `The App ${slug} is not installed. Install it at ${web}/apps/${slug}/installations/new.`,
  suspended: (slug: string) =>
    `Somebody suspended the App ${slug} at GitHub. Unsuspend it in the settings of the account, under GitHub Apps.`,
  badCode:
    'GitHub did not accept the code: it was used before, or is older than an hour. Delete the new App at GitHub, then create another one.',
  isGone: (slug: string) =>
    `GitHub has no App ${slug} any more. Disconnect the integration, then create a new App.`,
  badToken: (subject: Subject) =>
    subject.token === 'of an App'
      ? "GitHub rejected a token of the App. Try again. If it happens again, check the App's installation at GitHub."
      : `GitHub rejected the token: it is unknown, revoked or expired. Create a new one at ${subject.web}/settings/personal-access-tokens with ${permissionsFor(subject)}.`,
  tokenRequired: ({ service }: Subject) =>
    `The server at ${service.address} answers no requests without a token. Use a token.`,
  ssoRequired: ({ place, web }: Subject) =>
    `${place === null ? 'An organization' : `The organization ${place.split('/')[0]}`} requires single sign-on for this token. Authorize the token for it at ${web}/settings/tokens ("Configure SSO"), then try again.`,
  noPermission: (subject: Subject) =>
    subject.token === 'of an App'
      ? `The App needs ${permissionsFor(subject)}. Set them in the App's settings at GitHub, and accept them for the installation.`
      : subject.place === null
        ? `The token can't list repositories. Choose its repositories at ${subject.web}/settings/personal-access-tokens.`
        : `${mayNot(subject)}: it needs ${permissionsFor(subject)}. Change it at ${subject.web}/settings/personal-access-tokens.`,
  noScope: (subject: Subject) =>
    `${mayNot(subject)}: it lacks the scope admin:repo_hook. Add it at ${subject.web}/settings/tokens.`,
  noAdmin: ({ place }: Subject) =>
    `The token's owner does not have the role Admin in ${place}, which webhooks need. Ask for the role, or use the token of somebody who has it.`,

  badName: ({ place }: Subject) =>
    `A repository has the form OWNER/NAME, such as acme/rocket, not ${String(place).slice(0, 200)}`,
  noPlace: ({ place, token }: Subject) =>
    token === null
      ? `GitHub has no public repository ${place}. Check the name; a private repository needs a token.`
      : token === 'of an App'
        ? `GitHub has no repository ${place} that the App can see. Check the name, and the repositories of the installation.`
        : `GitHub has no repository ${place} that the token can see. Check the name, and the repositories that the token may access.`,
  noBranch: ({ place }: Subject, branch: string) => `${place} has no branch ${branch}`,
  badRef: (ref: string) => `${ref.slice(0, 200)} cannot be a tag, a branch or a commit`,
  noRange: ({ place }: Subject, base: string | null, head: string) =>
    base === null
      ? `${place} has no tag, branch or commit ${head}`
      : `GitHub cannot compare ${base} and ${head} of ${place}: one of them does not exist, or they share no history`,
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

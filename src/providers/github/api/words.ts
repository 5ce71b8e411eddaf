import { type Subject as CommonSubject, commonWords, untilTime } from '../../api-words.ts';

export type Subject = CommonSubject<'for webhooks' | 'for reading' | 'of an App'>;

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
const hooksPage = ({ web, place }: Subject) => `${web}/${place}/settings/hooks`;

/** The sentences of GitHub's problems: what happened, then what to do. */
export const words = {
  ...commonWords('GitHub', 'GITHUB_API_URL'),

  failed: ({ web }: Subject, status: number) =>
    `GitHub failed with status ${status}. Try again later.${web === 'https://github.com' ? ' See https://www.githubstatus.com.' : ''}`,
  rateLimited: ({ token }: Subject, retryAt: Date) =>
    token === null
      ? `GitHub accepts no more requests without a token until ${untilTime(retryAt)}. Try again then, or use a token.`
      : `GitHub accepts no more requests from this ${token === 'of an App' ? 'App' : 'token'} until ${untilTime(retryAt)}. Try again then.`,

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

  noPlace: ({ place, token }: Subject) =>
    token === null
      ? `GitHub has no public repository ${place}. Check the name; a private repository needs a token.`
      : token === 'of an App'
        ? `GitHub has no repository ${place} that the App can see. Check the name, and the repositories of the installation.`
        : `GitHub has no repository ${place} that the token can see. Check the name, and the repositories that the token may access.`,
  noRange: ({ place }: Subject, base: string | null, head: string) =>
    base === null
      ? `${place} has no tag, branch or commit ${head}`
      : `GitHub cannot compare ${base} and ${head} of ${place}: one of them does not exist, or they share no history`,
  hookExists: (subject: Subject) =>
    `${subject.place} has a webhook with this URL already. Delete it at ${hooksPage(subject)}, then try again.`,
  tooManyHooks: (subject: Subject, reason: string) =>
    `GitHub rejected another webhook for ${subject.place}: ${reason}. Delete one that you do not need at ${hooksPage(subject)}, then try again.`,
  unreachableUrl: (reason: string) =>
    `GitHub rejected the webhook: ${reason}. Set PUBLIC_URL to an address that GitHub can reach.`,
};

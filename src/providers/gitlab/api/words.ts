import { type Subject as CommonSubject, commonWords, untilTime } from '../../api-words.ts';

export type Subject = CommonSubject<'for webhooks' | 'for reading'>;

const scopeFor = ({ token }: Subject) => (token === 'for webhooks' ? 'api' : 'read_api');
const hooksPage = ({ web, place }: Subject) => `${web}/${place}/-/hooks`;
const tokensPage = ({ web }: Pick<Subject, 'web'>) => `${web}/-/user_settings/personal_access_tokens`;

/** The sentences of GitLab's problems: what happened, then what to do. */
export const words = {
  ...commonWords('GitLab', 'GITLAB_API_URL'),

  failed: ({ web }: Subject, status: number) =>
    `GitLab failed with status ${status}. Try again later.${web === 'https://gitlab.com' ? ' See https://status.gitlab.com.' : ''}`,
  rateLimited: ({ token }: Subject, retryAt: Date) =>
    token === null
      ? `GitLab accepts no more requests without a token until ${untilTime(retryAt)}. Try again then, or use a token.`
      : `GitLab accepts no more requests from this token until ${untilTime(retryAt)}. Try again then.`,

  badToken: (subject: Subject) =>
    `GitLab rejected the token: it is unknown, revoked or expired. Create a new one with the scope ${scopeFor(subject)} at ${tokensPage(subject)}.`,
  noScope: (subject: Subject) =>
    `The token lacks the scope ${scopeFor(subject)}. Create a new one with it at ${tokensPage(subject)}.`,
  noAccess: ({ place, token }: Subject) => {
    if (place === null) return "The token can't list projects.";
    return token === 'for webhooks'
      ? `The token's owner does not have the role Maintainer in ${place}, which webhooks need. Ask for the role, or use the token of somebody who has it.`
      : `The token can't read ${place}. Its owner needs the role Reporter there.`;
  },

  badName: (place: string) =>
    `A project has the form GROUP/NAME, such as acme/rocket, not ${place.slice(0, 200)}`,
  noPlace: ({ place, token }: Subject) =>
    token === null
      ? `GitLab has no public project ${place}. Check the name; a private project needs a token.`
      : `GitLab has no project ${place} that the token can see. Check the name, and the projects that the token may access.`,
  noBranch: (place: string, branch: string) =>
    `${place} at GitLab has no branch ${branch}. Check its default branch.`,
  isEmpty: (place: string) => `${place} at GitLab has no branch that can be read. Push a commit first.`,
  noCommits: (place: string, range: string) =>
    `GitLab cannot compare ${range} in ${place}: one of them no longer exists.`,
  noAttempts: (place: string) => `GitLab lists no deliveries of ${place}: that needs GitLab 17.3 or later.`,
  stillDisabled: (subject: Subject) =>
    `GitLab disabled the webhook of ${subject.place} after failed deliveries, and sends no test that would enable it. Test it at ${hooksPage(subject)}.`,
  tooManyHooks: (subject: Subject, reason: string) =>
    `GitLab rejected another webhook for ${subject.place}: ${reason}. Delete one that you do not need at ${hooksPage(subject)}, then try again.`,
  unreachableUrl: (reason: string) =>
    `GitLab rejected the webhook's URL: ${reason}. Set PUBLIC_URL to an address that GitLab can reach. For one in your own network, an administrator of GitLab adds it under Settings, Network, Outbound requests.`,
};

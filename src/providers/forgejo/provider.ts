import { codeHost, gitEvents } from '../git-events.ts';
import type { EventHandler, Provider } from '../provider.ts';
import { repositoryName } from '../repository-url.ts';
import { samples } from './samples.ts';
import { readPayload, signing } from './signing.ts';
import { authorization, imagePlace, isRepositoryName, PUBLIC_API, webOf } from './site.ts';

/** The button "Test delivery" sends a push that moves nothing: it counts as a ping. */
const push: EventHandler = {
  ...gitEvents.push,
  read(payload) {
    const result = gitEvents.push.read(payload);
    const { before, after } = payload;
    if (typeof after !== 'string' || before !== after) return result;
    return { outcome: 'ping', title: 'Test delivery: the webhook is configured' };
  },
  // Forgejo has pull requests at `/pulls/12`.
  toEvent(data: never, action) {
    const facts = gitEvents.push.toEvent?.(data, action);
    if (facts?.type !== 'push') throw new Error('A push became another event');
    const commits = facts.data.commits.map((commit) => ({ ...commit, pullPath: 'pulls' }));
    return { ...facts, data: { ...facts.data, commits } };
  },
};

/** Forgejo and Gitea: forgejo.org/docs/latest/user/webhooks. Their payloads follow GitHub's. */
export const forgejo: Provider<'forgejo'> = {
  id: 'forgejo',
  name: 'Forgejo',
  ...codeHost,
  isRepositoryName,

  placeName(text, apiUrl = PUBLIC_API) {
    const site = new URL(`${webOf(apiUrl)}/`);
    const url = URL.parse(/^https?:/i.test(text.trim()) ? text.trim() : `https://${text.trim()}`);
    // The site may be below a path of its host.
    const isBelow =
      site.pathname !== '/' && url?.host === site.host && url.pathname.startsWith(site.pathname);
    const given = isBelow ? `${site.origin}/${url.pathname.slice(site.pathname.length)}` : text;
    return repositoryName(given, site.hostname, { advice: '; for another server, set FORGEJO_API_URL' });
  },

  reader: {
    open: async (...given) => (await import('./reader.ts')).forgejoReader(...given),
    anonymousPerHour: null,
    access: 'the scope read:repository',
  },
  api: {
    open: async (...given) => (await import('./api/index.ts')).forgejoApi(...given),
    listsDeliveries: false,
    allPlaces: null,
    imagePlace,
    authorization,
    words: {
      label: 'Forgejo token',
      option: 'Token with which Tidings creates and manages the webhooks; - reads it from standard input',
      list: 'List the repositories that the token can administer, and connect nothing',
      help: 'The token has the scopes write:repository and read:user, and belongs to somebody who administers the repositories. Without --repository, --token lists the repositories that the token can administer. The server is codeberg.org unless you set FORGEJO_API_URL to https://HOST/api/v1; Gitea works too.',
      hint(baseUrl) {
        const web = webOf(baseUrl ?? PUBLIC_API);
        const isPublic = web === webOf(PUBLIC_API);
        return [
          { text: 'An access token', href: `${web}/user/settings/applications` },
          ` of ${new URL(web).host} with the scopes `,
          { code: 'write:repository' },
          ' and ',
          { code: 'read:user' },
          ', of somebody who administers the repositories. It is kept encrypted.',
          ...(isPublic ? [' For another Forgejo or Gitea, set ', { code: 'FORGEJO_API_URL' }, '.'] : []),
        ];
      },
      noPermission: (place) =>
        `The token's owner does not administer ${place}. Use the token of somebody who does`,
    },
  },
  ...signing,
  readPayload,
  events: { ...gitEvents, push },
  samples,

  words: {
    place: { one: 'repository', many: 'repositories', pattern: 'OWNER/NAME' },
    covers: 'repositories on Forgejo or Gitea',
    steps: (repository) => [
      [`Open the settings of ${repository}, Webhooks, Add webhook, Forgejo (or Gitea).`],
      ['Paste the URL and the secret.'],
      ['Keep the method POST and the content type ', { code: 'application/json' }, '.'],
      ['Choose custom events: Push, Modification of pull requests, and Releases.'],
    ],
    shortSteps: (repository) =>
      `At ${repository ?? 'each repository'}, open Settings, Webhooks, Add webhook, Forgejo (or Gitea). Paste ${repository === null ? 'its' : 'the'} URL and the secret. Keep the content type application/json. Choose Push, Modification of pull requests, and Releases.`,
    redelivery:
      'Forgejo and Gitea do not retry, and their APIs do not list deliveries. The webhook page of the repository lists recent ones and can replay each.',
  },
};

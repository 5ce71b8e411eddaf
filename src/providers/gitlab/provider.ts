import { type Payload, type Provider, parseJsonObject } from '../provider.ts';
import { repositoryName } from '../repository-url.ts';
import { events } from './events.ts';
import { samples } from './samples.ts';
import { signing } from './signing.ts';
import { isProjectName, webOf } from './site.ts';

const PUBLIC_API = 'https://gitlab.com/api/v4';

/** GitLab, gitlab.com and self-managed: docs.gitlab.com/user/project/integrations/webhooks. */
export const gitlab: Provider<'gitlab'> = {
  id: 'gitlab',
  name: 'GitLab',
  hasRepositories: true,
  sendsForms: false,
  requiresHttps: false,
  // "Upcoming releases": docs.gitlab.com/user/project/releases
  datesReleasesAhead: true,
  isRepositoryName: isProjectName,

  placeName(text, apiUrl = PUBLIC_API) {
    const { hostname } = new URL(webOf(apiUrl));
    const given = text.trim();
    // A group may have a dot in its name, as a host has.
    const isName = isProjectName(given) && !given.toLowerCase().startsWith(`${hostname}/`);
    return isName ? given : repositoryName(given, hostname, { isNested: true });
  },

  reader: {
    open: async (...given) => (await import('./reader.ts')).gitlabReader(...given),
    // gitlab.com allows 500 a minute from an address.
    anonymousPerHour: 30_000,
    access: 'the scope read_api',
  },
  api: {
    open: async (...given) => (await import('./api/index.ts')).gitlabApi(...given),
    listsDeliveries: true,
    allPlaces: null,
    // Uploads of a private project are on the website, which takes no token. Below the API, a token would open the
    // files of all its projects to whoever writes a link.
    imagePlace: () => null,
    authorization: (token) => `Bearer ${token}`,
    words: {
      label: 'GitLab token',
      option: 'Token with which Tidings creates and manages the webhooks; - reads it from standard input',
      list: 'List the projects that the token can administer, and connect nothing',
      help: 'The token is a personal, group or project access token with the scope api, of somebody with the role Maintainer. Without --repository, --token lists the projects that the token can administer. For a self-managed GitLab, set GITLAB_API_URL to https://HOST/api/v4.',
      hint(baseUrl) {
        const web = webOf(baseUrl ?? PUBLIC_API);
        const page = '/-/user_settings/personal_access_tokens?name=Tidings&scopes=api';
        return [
          { text: 'A personal access token', href: web + page },
          ', or one of a group or project, with the scope ',
          { code: 'api' },
          ' and the role Maintainer. It is kept encrypted.',
        ];
      },
      noPermission: (place) =>
        `The token's owner does not have the role Maintainer in ${place}. Use the token of somebody who has it`,
    },
  },
  ...signing,

  readPayload: (body) => parseJsonObject(body),
  repositoryOf({ project }) {
    const { id, path_with_namespace: fullName } = (project ?? {}) as Payload;
    return typeof id === 'number' && typeof fullName === 'string' ? { id, fullName } : null;
  },

  events,
  triggerEvents: {
    release: ['merge_request', 'push', 'release'],
    push: ['merge_request', 'push', 'release'],
    pull_request: ['merge_request', 'release'],
  },
  samples,
  exampleEvent: 'release',

  words: {
    place: { one: 'project', many: 'projects', pattern: 'GROUP/NAME' },
    covers: 'projects on GitLab',
    steps: (repository) => [
      [`Open the settings of ${repository}, Webhooks, Add new webhook.`],
      ['Paste the URL, and the secret as the secret token.'],
      ['Choose the events: Push events, Merge request events, and Releases events.'],
      [
        'Keep SSL verification enabled: GitLab sends the secret token along with each delivery. With an access token, Tidings sets up signatures instead.',
      ],
    ],
    shortSteps: (repository) =>
      `At ${repository ?? 'each project'}, open Settings, Webhooks, Add new webhook. Paste ${repository === null ? 'its' : 'the'} URL, and the secret as the secret token. Choose Push events, Merge request events, and Releases events. GitLab sends the secret token along with each delivery; with --token, Tidings sets up signatures instead.`,
  },
};

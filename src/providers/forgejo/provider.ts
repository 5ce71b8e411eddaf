import { ATTACHMENTS } from '../api.ts';
import { codeHost, gitEvents } from '../git-events.ts';
import { payloadField, repositoryName, startsWithPayload } from '../paths.ts';
import { type EventHandler, type Provider, parseJsonObject, type Signing, signedBy } from '../provider.ts';
import { samplesIn } from '../samples.ts';
import samples from './samples.json' with { type: 'json' };

// forgejo.org/docs/latest/user/webhooks and docs.gitea.com/usage/webhooks. Gitea signs as Forgejo does, under the names
// of its own headers. Forgejo sends both sets, and those of Gogs and GitHub too.

const USER_AGENT = 'Go-http-client/1.1';

const namesOf = (brand: 'Forgejo' | 'Gitea') => ({
  event: `X-${brand}-Event`,
  delivery: `X-${brand}-Delivery`,
  signature: `X-${brand}-Signature`,
  prefix: '' as const,
});

const gitea = signedBy(namesOf('Gitea'), USER_AGENT, ['X-Gitea-Event-Type']);
const forgejoSigning = signedBy(namesOf('Forgejo'), USER_AGENT, ['X-Forgejo-Event-Type']);

const { headerNames: names } = forgejoSigning;

const signing: Signing = {
  ...forgejoSigning,
  headerDocs: {
    [names.event]: 'Forgejo: the event, such as `release`.',
    [names.delivery]: 'Forgejo: the delivery ID. Tidings remembers it for 24 hours.',
    [names.signature]:
      "Forgejo: the HMAC-SHA-256 of the JSON payload in hex, with the integration's secret as the key.",
    [gitea.headerNames.event]: `Gitea: as \`${names.event}\`.`,
    [gitea.headerNames.delivery]: `Gitea: as \`${names.delivery}\`.`,
    [gitea.headerNames.signature]: `Gitea: as \`${names.signature}\`.`,
  },
  loggedHeaders: [...forgejoSigning.loggedHeaders, ...gitea.loggedHeaders],

  readHeaders(headers) {
    const isGitea = !headers.has(names.event) && headers.has(gitea.headerNames.event);
    return (isGitea ? gitea : forgejoSigning).readHeaders(headers);
  },

  // Both sign the payload, also when they send the payload in a form.
  isSigned: (body, signature, secret) => forgejoSigning.isSigned(payloadOf(body), signature, secret),
};

/** As `isSigned` reads it: the signature doesn't cover the content type. */
const readPayload = (body: Uint8Array) => parseJsonObject(payloadOf(body));

/** The JSON of a body, which may be the first field of a form. */
function payloadOf(body: Uint8Array): Uint8Array {
  return (startsWithPayload(body) ? payloadField(body) : null) ?? body;
}

const PUBLIC_API = 'https://codeberg.org/api/v1';

/** The site of an API such as `https://codeberg.org/api/v1`, or `https://HOST/git/api/v1`. */
export function webOf(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return origin + pathname.replace(/\/api\/v1\/?$/, '').replace(/\/$/, '');
}

/** Both parts of a repository's name, so that none can lead to another route. */
const NAME = /^(?!\.{1,2}\/)([\w.-]{1,100})\/(?!\.{1,2}$)([\w.-]{1,100})$/;

export const isRepositoryName = (text: string): boolean => NAME.test(text);

/** Uploads to releases, issues and comments. Their random id is the only way to find them. */
const ATTACHMENT = /^\/attachments\/[0-9a-f]{8}-[0-9a-f-]{27}$/i;

/** The place of an image at Forgejo: `owner/name` in lower case, `ATTACHMENTS`, or null at any other site. */
export function imagePlace(url: URL, apiUrl = PUBLIC_API): string | null {
  const web = new URL(`${webOf(apiUrl)}/`);
  if (url.origin !== web.origin || !url.pathname.startsWith(web.pathname)) return null;
  const path = url.pathname.slice(web.pathname.length - 1);
  // A server may decode these, and then read the path as that of another repository.
  if (/%2e|%2f|%5c|\/\//i.test(path)) return '';
  if (ATTACHMENT.test(path)) return ATTACHMENTS;
  const [, owner = '', name = ''] = path.toLowerCase().split('/');
  return `${owner}/${name}`;
}

export const authorization = (token: string): string => `token ${token}`;

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
    redelivery: null,
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
  samples: samplesIn(samples),

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

import { DAY_MS } from '../../lib/time.ts';
import { ATTACHMENTS } from '../api.ts';
import { codeHost } from '../git-events.ts';
import { repositoryName } from '../paths.ts';
import { type Phrase, type Provider, signedBy } from '../provider.ts';
import { samplesIn } from '../samples.ts';
import { githubApps, webOf } from './app/support.ts';
import { events } from './events.ts';
import samples from './samples.json' with { type: 'json' };

/** Uploads to comments and notes. Their random id is the only way to find them. */
const ATTACHMENT = /^\/user-attachments\/assets\/[0-9a-f]{8}-[0-9a-f-]{27}$/i;

/** The place of an image at GitHub: `owner/name` in lower case, `ATTACHMENTS`, or null at any other host. */
export function imagePlace(url: URL, apiUrl = 'https://api.github.com'): string | null {
  const web = webOf(apiUrl);
  const own = web === 'https://github.com' ? [web, 'https://raw.githubusercontent.com'] : [web];
  if (!own.includes(url.origin)) return null;
  if (ATTACHMENT.test(url.pathname)) return ATTACHMENTS;
  const [, owner = '', name = ''] = url.pathname.toLowerCase().split('/');
  // A server may decode these, and then read the path as that of another repository.
  const isAmbiguous = /%2e|%2f|%5c|\/\//i.test(url.pathname);
  return isAmbiguous ? '' : `${owner}/${name}`;
}

/** GitHub, and GitHub Enterprise: docs.github.com/webhooks. */
export const github: Provider<'github'> = {
  id: 'github',
  name: 'GitHub',
  placeName: (text, apiUrl = 'https://api.github.com') =>
    repositoryName(text, new URL(webOf(apiUrl)).hostname),
  reader: {
    open: async (...given) => (await import('./api/reader.ts')).githubReader(...given),
    anonymousPerHour: 60,
    access: 'the permissions “Contents: read” and “Pull requests: read”',
  },
  api: {
    open: async (...given) => (await import('./api/index.ts')).githubApi(...given),
    // GitHub takes 80 requests a minute that cause something.
    redelivery: { keptMs: 3 * DAY_MS, burst: 10, everyMs: 10_000 },
    allPlaces: null,
    imagePlace,
    authorization: (token) => `Bearer ${token}`,
    words: {
      label: 'GitHub token',
      option: 'Token with which Tidings creates and manages the webhooks; - reads it from standard input',
      list: 'List the repositories that the token can administer, and connect nothing',
      help: `The token is fine-grained with the repository permissions "Webhooks: read and write", "Contents: read", and "Pull requests: read", or classic with the scope admin:repo_hook. Without --repository, --token lists the repositories that the token can administer.`,
      hint(baseUrl) {
        const isCloud = baseUrl === null || new URL(baseUrl).host === 'api.github.com';
        const link = (text: string, path: string): Phrase =>
          isCloud ? { text, href: `https://github.com/settings/${path}` } : text;
        return [
          link('A fine-grained token', 'personal-access-tokens/new'),
          ' with the permissions “Webhooks: read and write”, “Contents: read”, and “Pull requests: read” on the repositories, or ',
          link('a classic one', 'tokens/new?description=Tidings&scopes=admin:repo_hook'),
          ' with the scope ',
          { code: 'admin:repo_hook' },
          '. It is kept encrypted.',
        ];
      },
      noPermission: (place) =>
        `The token's owner does not have the role Admin in ${place}. Use the token of somebody who has it`,
    },
  },
  ...signedBy(
    {
      event: 'X-GitHub-Event',
      delivery: 'X-GitHub-Delivery',
      signature: 'X-Hub-Signature-256',
      prefix: 'sha256=',
    },
    'GitHub-Hookshot/tidings',
    [
      'X-GitHub-Hook-ID',
      'X-GitHub-Hook-Installation-Target-ID',
      'X-GitHub-Hook-Installation-Target-Type',
      'X-GitHub-Enterprise-Host',
      'X-GitHub-Enterprise-Version',
    ],
  ),
  ...codeHost,
  app: githubApps,
  events,
  samples: samplesIn(samples),

  words: {
    place: { one: 'repository', many: 'repositories', pattern: 'OWNER/NAME' },
    covers: 'repositories on GitHub',
    steps: (repository) => [
      [
        'Open ',
        {
          text: `the settings of ${repository}, Webhooks, Add webhook`,
          href: `https://github.com/${repository}/settings/hooks/new`,
        },
        '.',
      ],
      ['Paste the URL and the secret.'],
      ['Choose the content type ', { code: 'application/json' }, '.'],
      ['Choose the events: releases, pushes and pull requests become posts.'],
    ],
    shortSteps: (repository) =>
      repository === null
        ? 'At each repository, open Settings, Webhooks, Add webhook. Paste its URL and the secret. Choose the content type application/json and the events.'
        : `Open https://github.com/${repository}/settings/hooks/new
Paste the URL and the secret. Choose the content type application/json and the events.`,
  },
};

import { timingSafeEqual } from 'node:crypto';
import { DAY_MS } from '../../lib/time.ts';
import { repositoryName } from '../paths.ts';
import {
  type DeliveryHeaders,
  type Payload,
  type Provider,
  parseJsonObject,
  type Signing,
  tokenHeader,
} from '../provider.ts';
import { samplesIn } from '../samples.ts';
import { events } from './events.ts';
import samples from './samples.json' with { type: 'json' };

// docs.gitlab.com/user/project/integrations/webhooks. GitLab proves a delivery in two ways. Since 19.0 a webhook can
// have a signing token, and GitLab signs the delivery id, the time and the body (standardwebhooks.com). An older
// webhook has a secret token, which GitLab sends along as it is: it proves who sent the delivery, not what is in it.

const EVENT = 'X-Gitlab-Event';
/** The same for each attempt, since GitLab 17.4. */
const DELIVERY = 'Idempotency-Key';
/** Another one for each attempt, since 16.2. `X-Gitlab-Event-UUID` won't do: deliveries of one cause share it. */
const ATTEMPT = 'X-Gitlab-Webhook-UUID';
const SECRET_TOKEN = 'X-Gitlab-Token';
const SIGNATURE = 'webhook-signature';
const SIGNED_ID = 'webhook-id';
const SIGNED_AT = 'webhook-timestamp';

const SIGNED = 'signed ';
const PLAIN = 'plain ';

const signing: Signing = {
  headerNames: { event: EVENT, delivery: DELIVERY, signature: SECRET_TOKEN, prefix: '' },
  loggedHeaders: [EVENT, DELIVERY, ATTEMPT, 'X-Gitlab-Event-UUID', 'X-Gitlab-Instance', SIGNED_AT].map(
    (name) => name.toLowerCase(),
  ),
  headerDocs: {
    [EVENT]: 'GitLab: the event, such as `Release Hook`.',
    [DELIVERY]: 'GitLab: the delivery ID. Tidings remembers it for 24 hours.',
    [SIGNATURE]: `GitLab 19.0 and later: \`v1,\` and the HMAC-SHA-256 in base64 of the headers \`${SIGNED_ID}\` and \`${SIGNED_AT}\` and the raw body, with dots between them. The key is the SHA-256 of the integration's secret.`,
    [SIGNED_ID]: 'GitLab: the signed delivery ID.',
    [SIGNED_AT]: 'GitLab: the time of the signature, in seconds since 1970. At most a day ago.',
    [SECRET_TOKEN]: "GitLab, for a webhook without a signing token: the integration's secret.",
  },

  readHeaders(headers) {
    const event = eventNamed(headers.get(EVENT));
    if (event === null) return { missing: EVENT };
    const signature = headers.get(SIGNATURE);
    if (signature !== null) return signedHeaders(headers, event, signature);
    const deliveryId = tokenHeader(headers, DELIVERY) ?? tokenHeader(headers, ATTEMPT);
    if (deliveryId === null) return { missing: DELIVERY };
    const token = headers.get(SECRET_TOKEN);
    return token ? { event, deliveryId, signature: PLAIN + token } : { missing: SECRET_TOKEN };
  },

  isSigned(body, signature, secret) {
    if (secret === '') return false;
    if (signature.startsWith(PLAIN)) return isEqual(signature.slice(PLAIN.length), secret);
    if (!signature.startsWith(SIGNED)) return false;
    const [signed = '', ...signatures] = signature.slice(SIGNED.length).split(' ');
    const expected = signatureOf(signed, body, secret);
    // A sender may sign with two tokens while one replaces the other.
    return signatures.slice(0, MAX_SIGNATURES).some((each) => isEqual(each, expected));
  },

  sign({ event, deliveryId, body, secret, now }) {
    const signedAt = String(Math.floor(now.getTime() / 1000));
    return {
      'user-agent': 'GitLab/19.0.0',
      [EVENT.toLowerCase()]: headerOfEvent(event),
      [DELIVERY.toLowerCase()]: deliveryId,
      [SIGNED_ID]: deliveryId,
      [SIGNED_AT]: signedAt,
      [SIGNATURE]: signatureOf(`${deliveryId}.${signedAt}`, Buffer.from(body), secret),
    };
  },
};

const MAX_SIGNATURES = 5;

/** A signature and what it covers besides the body. A signed delivery is never taken for its plain token. */
function signedHeaders(
  headers: Headers,
  event: string,
  signature: string,
): DeliveryHeaders | { missing: string } {
  const deliveryId = tokenHeader(headers, SIGNED_ID);
  if (deliveryId === null) return { missing: SIGNED_ID };
  const seconds = headers.get(SIGNED_AT) ?? '';
  if (!/^[1-9]\d{8,10}$/.test(seconds)) return { missing: SIGNED_AT };
  const signedAt = new Date(Number(seconds) * 1000);
  return { event, deliveryId, signedAt, signature: `${SIGNED}${deliveryId}.${seconds} ${signature}` };
}

/** The signing token of a webhook. GitLab asks for 32 bytes, whatever the length of the secret. */
export function signingToken(secret: string): string {
  return `whsec_${keyOf(secret).toString('base64')}`;
}

function keyOf(secret: string): Buffer {
  return Buffer.from(new Bun.CryptoHasher('sha256').update(secret).digest());
}

function signatureOf(signed: string, body: Uint8Array, secret: string): string {
  if (secret === '') throw new Error('an empty secret signs nothing');
  const hmac = new Bun.CryptoHasher('sha256', keyOf(secret)).update(`${signed}.`).update(body);
  return `v1,${hmac.digest('base64')}`;
}

/** Compares digests, so that the time says nothing about the length either. */
function isEqual(given: string, expected: string): boolean {
  const digest = (text: string) => new Bun.CryptoHasher('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

/** `merge_request` for `Merge Request Hook`: names in the log have no spaces. */
export function eventNamed(header: string | null): string | null {
  const words = /^([A-Za-z]+(?: [A-Za-z]+){0,5}) Hook$/.exec(header ?? '')?.[1];
  return words === undefined || words.length > 80 ? null : words.toLowerCase().replaceAll(' ', '_');
}

function headerOfEvent(event: string): string {
  const words = event.split('_').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${words.join(' ')} Hook`;
}

/** The site of an API such as `https://gitlab.com/api/v4`, or `https://HOST/gitlab/api/v4`. */
export function webOf(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return origin + pathname.replace(/\/api\/v4\/?$/, '').replace(/\/$/, '');
}

/** Groups nest up to 20 deep. Nothing in a name may lead to another route. */
const NAME = /^(?=.{3,500}$)(?:(?!\.{1,2}\/)[\w.-]{1,255}\/){1,21}(?!\.{1,2}$)[\w.-]{1,255}$/;

/** True for the full path of a project, such as `group/name` or `group/subgroup/name`. */
export const isProjectName = (text: string): boolean => NAME.test(text);

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
  requestMark: '!',
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
    redelivery: { keptMs: 7 * DAY_MS, burst: 5, everyMs: 60_000 },
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
  samples: samplesIn(samples),
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

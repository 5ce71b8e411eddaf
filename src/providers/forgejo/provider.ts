import { codeHost, gitEvents } from '../git-events.ts';
import { type EventHandler, type Provider, parseJsonObject, signedBy } from '../provider.ts';
import { repositoryName } from '../repository-url.ts';
import { samples } from './samples.ts';

const signing = signedBy(
  {
    event: 'X-Forgejo-Event',
    delivery: 'X-Forgejo-Delivery',
    signature: 'X-Forgejo-Signature',
    prefix: '',
  },
  'Go-http-client/1.1',
  ['X-Forgejo-Event-Type'],
);

/** The button "Test delivery" sends a push that moves nothing: it counts as a ping. */
const push: EventHandler = {
  ...gitEvents.push,
  read(payload) {
    const result = gitEvents.push.read(payload);
    const { before, after } = payload;
    if (typeof after !== 'string' || before !== after) return result;
    return { outcome: 'ping', title: 'Test delivery: the webhook is configured' };
  },
};

/** Forgejo: forgejo.org/docs/latest/user/webhooks. Its payloads follow GitHub's. */
export const forgejo: Provider<'forgejo'> = {
  id: 'forgejo',
  name: 'Forgejo',
  // Tidings does not know where it runs.
  placeName: (text) => repositoryName(text, null),
  api: null,
  reader: null,
  ...signing,
  // Forgejo signs the payload, also when it sends the payload in a form.
  isSigned: (body, signature, secret) => signing.isSigned(payloadOf(body), signature, secret),
  ...codeHost,
  // As `isSigned` reads it: the signature doesn't cover the content type.
  readPayload: (body) => parseJsonObject(payloadOf(body)),
  events: { ...gitEvents, push },
  samples,

  words: {
    place: { one: 'repository', many: 'repositories', pattern: 'OWNER/NAME' },
    covers: 'repositories on Forgejo',
    steps: (repository) => [
      [`Open the settings of ${repository}, Webhooks, Add webhook, Forgejo.`],
      ['Paste the URL and the secret.'],
      ['Keep the method POST and the content type ', { code: 'application/json' }, '.'],
      ['Choose custom events: Push, Modification of pull requests, and Releases.'],
    ],
    shortSteps: (repository) =>
      `At ${repository ?? 'each repository'}, open Settings, Webhooks, Add webhook, Forgejo. Paste ${repository === null ? 'its' : 'the'} URL and the secret. Keep the content type application/json. Choose Push, Modification of pull requests, and Releases.`,
    redelivery:
      'Forgejo does not retry by itself. Its webhook page lists recent deliveries and can replay each.',
  },
};

const FORM = Buffer.from('payload=');

/** The JSON of a body, which may be the only field of a form. */
function payloadOf(body: Uint8Array): Uint8Array {
  if (!FORM.equals(body.subarray(0, FORM.length))) return body;
  return Buffer.from(new URLSearchParams(Buffer.from(body).toString()).get('payload') ?? '');
}

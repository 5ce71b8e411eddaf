import { ALL_PUBLIC_TEAMS, ATTACHMENTS } from '../api.ts';
import { MalformedPayload, type Provider, parseJsonObject, requireFresh, signedBy } from '../provider.ts';
import { samplesIn } from '../samples.ts';
import { events } from './events.ts';
import samples from './samples.json' with { type: 'json' };

/** Linear: linear.app/developers/webhooks. */
export const linear: Provider<'linear'> = {
  id: 'linear',
  name: 'Linear',
  placeName: (text) => text.trim(),
  hasRepositories: false,
  sendsForms: false,
  requiresHttps: true,
  reader: null,
  api: {
    open: async (...given) => (await import('./api/index.ts')).linearApi(...given),
    redelivery: null,
    changes: true,
    allPlaces: ALL_PUBLIC_TEAMS,
    imagePlace: (url) => (url.origin === 'https://uploads.linear.app' ? ATTACHMENTS : null),
    authorization: (token) => token,
    words: {
      label: 'Linear API key',
      option:
        'API key of a workspace admin, with which Tidings creates and manages the webhook; - reads it from standard input',
      list: 'List the teams that the token can see, and connect nothing',
      help: '',
      hint: () => [
        { text: 'A personal API key', href: 'https://linear.app/settings/account/security' },
        " of one of the workspace's admins. It is kept encrypted.",
      ],
      noPermission: () =>
        "The token's owner is not an admin of the workspace. Only admins can manage webhooks at Linear",
    },
  },
  ...signedBy(
    { event: 'Linear-Event', delivery: 'Linear-Delivery', signature: 'Linear-Signature', prefix: '' },
    'Linear-Webhook',
    ['Linear-Timestamp'],
  ),

  async readPayload(body, _contentType, now) {
    const payload = await parseJsonObject(body);
    // The header Linear-Timestamp is not signed; this field is.
    const { webhookTimestamp } = payload;
    if (typeof webhookTimestamp !== 'number') throw new MalformedPayload('webhookTimestamp must be a number');
    // Linear retries after 1 minute, 1 hour and 6 hours.
    requireFresh('webhookTimestamp', webhookTimestamp, now);
    return payload;
  },
  repositoryOf: () => null,
  isRepositoryName: () => false,

  events,
  triggerEvents: {
    release: ['Release', 'ReleaseNote'],
    issue: ['Attachment', 'Issue'],
    project: ['Project'],
    project_update: ['InitiativeUpdate', 'ProjectUpdate'],
  },
  samples: samplesIn(samples, {
    timeOf: (time) => time.toISOString(),
    more: (now) => ({ webhookTimestamp: now.getTime() }),
  }),
  exampleEvent: 'Issue',

  words: {
    place: { one: 'team', many: 'teams', pattern: 'KEY' },
    covers: 'a workspace on Linear',
    steps: () => [
      ['Open Settings, API, New webhook.'],
      ['Paste the URL and the secret.'],
      ['Choose Issues, Issue attachments, Projects, Project updates and Releases.'],
    ],
    shortSteps: () =>
      'At Linear, open Settings, API, New webhook. Paste the URL and the secret. Choose Issues, Issue attachments, Projects, Project updates and Releases.',
    redelivery:
      'Linear lists no deliveries. It retries a failed one for up to 7 hours, and with a token, Tidings reads the changes every 10 minutes.',
    noHeartbeat:
      'Linear has no ping, so there is no heartbeat: these readings find what its webhook does not bring.',
  },
};

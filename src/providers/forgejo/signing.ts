import { payloadField, startsWithPayload } from '../form.ts';
import { parseJsonObject, type Signing, signedBy } from '../provider.ts';

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
const forgejo = signedBy(namesOf('Forgejo'), USER_AGENT, ['X-Forgejo-Event-Type']);

const { headerNames: names } = forgejo;

export const signing: Signing = {
  ...forgejo,
  headerDocs: {
    [names.event]: 'Forgejo: the event, such as `release`.',
    [names.delivery]: 'Forgejo: the delivery id. Tidings remembers it for 24 hours.',
    [names.signature]:
      "Forgejo: the HMAC-SHA-256 of the JSON payload in hex, with the integration's secret as the key.",
    [gitea.headerNames.event]: `Gitea: as \`${names.event}\`.`,
    [gitea.headerNames.delivery]: `Gitea: as \`${names.delivery}\`.`,
    [gitea.headerNames.signature]: `Gitea: as \`${names.signature}\`.`,
  },
  loggedHeaders: [...forgejo.loggedHeaders, ...gitea.loggedHeaders],

  readHeaders(headers) {
    const isGitea = !headers.has(names.event) && headers.has(gitea.headerNames.event);
    return (isGitea ? gitea : forgejo).readHeaders(headers);
  },

  // Both sign the payload, also when they send the payload in a form.
  isSigned: (body, signature, secret) => forgejo.isSigned(payloadOf(body), signature, secret),
};

/** As `isSigned` reads it: the signature doesn't cover the content type. */
export const readPayload = (body: Uint8Array) => parseJsonObject(payloadOf(body));

/** The JSON of a body, which may be the first field of a form. */
function payloadOf(body: Uint8Array): Uint8Array {
  return (startsWithPayload(body) ? payloadField(body) : null) ?? body;
}

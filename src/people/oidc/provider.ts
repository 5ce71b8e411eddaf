import { AppError, messageOf } from '../../lib/app-error.ts';
import type { Clock } from '../../lib/time.ts';
import type { Claims, Rule } from './rules.ts';

// The identity provider of the settings. Its library loads, and the provider is asked, when somebody first signs in.

export interface ProviderSettings {
  issuer: string;
  clientId: string;
  clientSecret: string;
  name: string;
  scopes: string;
  rules: readonly Rule[];
  /** People may sign in with a password too. */
  hasPasswords: boolean;
}

/** The secrets of one sign-in, which only the browser that began it holds. */
export interface Attempt {
  state: string;
  nonce: string;
  verifier: string;
}

/** A person whom the provider has just signed in. */
export interface Arrival {
  issuer: string;
  subject: string;
  /** The provider's ID of its session. */
  sid: string | null;
  claims: Claims;
  /** Null where the provider offers no sign-out. */
  idToken: string | null;
}

/** A session at the provider that has ended: all of a person's, or the one with this ID. */
export interface EndedSession {
  issuer: string;
  subject: string | undefined;
  sid: string | undefined;
  /** The ID of the token. */
  jti: string;
}

/** The provider as it describes itself. Its methods throw `ProviderFailure`. */
export interface ProviderClient {
  newAttempt(): Attempt;
  /** The page of the provider where the person signs in. */
  signInUrl(attempt: Attempt, redirectUri: string): Promise<string>;
  /** Takes the address that the provider sent the browser to. */
  finish(url: URL, attempt: Attempt): Promise<Arrival>;
  /** The page of the provider that signs the person out there; null where it has none. */
  signOutUrl(idToken: string | null, back: string): string | null;
  readLogoutToken(token: string): Promise<EndedSession>;
  /** Asks for the keys, and whether the client may ask for tokens. Returns the code of a refusal, such as `invalid_client`. */
  examine(redirectUri: string): Promise<string | null>;
}

export type IdentityProvider = Pick<ProviderSettings, 'issuer' | 'name' | 'rules' | 'hasPasswords'> & {
  client(): Promise<ProviderClient>;
};

const failures = {
  provider_unavailable: [
    502,
    (name: string) =>
      `${name} does not respond as it should. Try again in a minute. If it keeps failing, ask the administrator of this server.`,
  ],
  provider_denied: [
    400,
    (name: string) =>
      `${name} did not sign you in: you canceled, or you may not use Tidings. Try again, or ask who manages your accounts.`,
  ],
  provider_bad_answer: [
    400,
    (name: string) =>
      `The response of ${name} failed a security check, so you are not signed in. Start again. If it keeps failing, ask the administrator of this server.`,
  ],
} as const;

/** The cause is for the log: it may hold what the provider sent. */
export class ProviderFailure extends AppError {
  constructor(code: keyof typeof failures, name: string, cause: unknown) {
    const [status, text] = failures[code];
    super(status, text(name), { code, cause, isRefusal: true });
  }
}

/** How long the provider's description of itself is used, in milliseconds. */
const DESCRIPTION_MS = 3_600_000;

export function identityProvider(
  settings: ProviderSettings,
  { clock, plainHosts }: { clock: Clock; plainHosts?: ReadonlySet<string> | undefined },
): IdentityProvider {
  const { issuer, name, rules, hasPasswords } = settings;
  let described: { client: Promise<ProviderClient>; until: number } | null = null;
  return {
    ...{ issuer, name, rules, hasPasswords },
    client() {
      const now = clock.now().getTime();
      if (described !== null && described.until > now) return described.client;
      const client = import('./client.ts').then(({ connect }) => connect(settings, plainHosts));
      const entry = { client, until: now + DESCRIPTION_MS };
      described = entry;
      // Requests that come meanwhile share the failure, so strangers cause one request at a time.
      client.catch(() => {
        if (described === entry) described = null;
      });
      return client;
    },
  };
}

/** For the log: what the libraries say, with their causes, and nothing that they were sent. */
export function describeCause(error: unknown): string {
  const texts: string[] = [];
  for (let each = error; each instanceof Error && texts.length < 4; each = each.cause) {
    texts.push(messageOf(each));
  }
  return texts.join(': ').slice(0, 500);
}

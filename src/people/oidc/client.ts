import {
  createRemoteJWKSet,
  type JWTHeaderParameters,
  errors as joseErrors,
  customFetch as jwksFetch,
  jwtVerify,
} from 'jose';
import * as oidc from 'openid-client';
import { type PublicConnectOptions, RefusedDownload, requestPublic } from '../../lib/public-fetch.ts';
import { requireEmail } from '../accounts.ts';
import { type Arrival, type ProviderClient, ProviderFailure, type ProviderSettings } from './provider.ts';
import type { Claims } from './rules.ts';

// Speaks OpenID Connect with the provider. `openid-client` checks state, `iss`, nonce, PKCE, audience, and times; `jose` the
// signatures, by one set of keys for ID tokens and logout tokens.

/** For each request to the provider. */
const MAX_BYTES = 1024 * 1024;
const TIMEOUT_MS = 10_000;

/** How far the clocks may differ, in seconds. */
const TOLERANCE_S = 60;

/** How old a token may be, in seconds. The IDs of logout tokens are remembered for longer. */
const MAX_AGE_S = 600;

/** How long unknown keys are not asked for again, in milliseconds: strangers can send tokens with made-up keys. */
const KEYS_COOLDOWN_MS = 5_000;

/** No shared secret, and not `none`. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

const MAX_ID_LENGTH = 255;

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** Asks the provider to describe itself. Throws `ProviderFailure`. */
export async function connect(
  settings: ProviderSettings,
  plainHosts: ReadonlySet<string> = new Set(),
): Promise<ProviderClient> {
  const { issuer, clientId, clientSecret, name, scopes } = settings;
  const fetchGuarded = guardedFetch(new URL(issuer), plainHosts);
  const isPlain = issuer.startsWith('http:');

  /** `openid-client` says why it refused. Failures of the network are the provider's too. */
  const failed = (error: unknown): ProviderFailure => {
    if (error instanceof ProviderFailure) return error;
    if (error instanceof oidc.AuthorizationResponseError)
      return new ProviderFailure('provider_denied', name, error);
    const isAnswer =
      error instanceof oidc.ResponseBodyError
        ? error.error === 'invalid_grant'
        : error instanceof oidc.ClientError && isRefusedAnswer(error);
    return new ProviderFailure(isAnswer ? 'provider_bad_answer' : 'provider_unavailable', name, error);
  };
  const unavailable = (error: unknown) => new ProviderFailure('provider_unavailable', name, error);
  const badAnswer = (why: string) => new ProviderFailure('provider_bad_answer', name, new Error(why));

  const config = await oidc
    .discovery(new URL(issuer), clientId, { [oidc.clockTolerance]: TOLERANCE_S }, chooseAuth(clientSecret), {
      [oidc.customFetch]: fetchGuarded,
      timeout: TIMEOUT_MS / 1000,
      ...(isPlain && { execute: [oidc.allowInsecureRequests] }),
    })
    .catch((error) => {
      throw unavailable(error);
    });
  const server = config.serverMetadata();
  // Also where the library makes an exception for providers with many tenants, whose people would all be let in.
  if (new URL(server.issuer).href !== new URL(issuer).href) {
    throw unavailable(new Error(`the issuer is ${server.issuer}, not the one of OIDC_ISSUER`));
  }
  const keysUrl = URL.parse(server.jwks_uri ?? '');
  if (keysUrl === null) throw unavailable(new Error('it names no list of its keys'));
  const keys = createRemoteJWKSet(keysUrl, {
    [jwksFetch]: fetchGuarded,
    timeoutDuration: TIMEOUT_MS,
    cooldownDuration: KEYS_COOLDOWN_MS,
  });

  /** The claims of a token with a signature of the provider. */
  async function verified(token: string, requiredClaims: string[] = []) {
    const options = { issuer: server.issuer, audience: clientId, algorithms: ALGORITHMS, requiredClaims };
    const times = { maxTokenAge: MAX_AGE_S, clockTolerance: TOLERANCE_S };
    try {
      return await jwtVerify(token, keys, { ...options, ...times });
    } catch (error) {
      const isOfToken = error instanceof joseErrors.JOSEError && !isOfKeys(error);
      throw new ProviderFailure(isOfToken ? 'provider_bad_answer' : 'provider_unavailable', name, error);
    }
  }

  async function finish(url: URL, { state, nonce, verifier }: Parameters<ProviderClient['finish']>[1]) {
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
    const tokens = await oidc.authorizationCodeGrant(config, url, { ...checks, idTokenExpected: true });
    const idToken = tokens.id_token ?? '';
    const { payload, protectedHeader } = await verified(idToken);
    const { sub = '', sid, azp, at_hash } = payload;
    // The library checks it for several audiences alone.
    if (azp !== undefined && azp !== clientId) throw badAnswer('another client asked for the token');
    if (!isId(sub)) throw badAnswer('the subject is empty or too long');
    if (at_hash !== undefined && at_hash !== halfHash(tokens.access_token, protectedHeader))
      throw badAnswer('the access token is of another answer');
    let all: Claims['all'] = payload;
    if (isIncomplete(all, settings) && server.userinfo_endpoint !== undefined) {
      const userInfo = await oidc.fetchUserInfo(config, tokens.access_token, sub);
      // One of them says both the address and that it is verified.
      all = { ...userInfo, ...all, ...addressIn(hasAddress(all) ? all : userInfo) };
    }
    return {
      issuer: server.issuer,
      subject: sub,
      sid: isId(sid) ? sid : null,
      claims: claimsOf(all),
      idToken: server.end_session_endpoint === undefined ? null : idToken,
    } satisfies Arrival;
  }

  return {
    newAttempt: () => ({
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      verifier: oidc.randomPKCECodeVerifier(),
    }),
    async signInUrl({ state, nonce, verifier }, redirectUri) {
      const code_challenge = await oidc.calculatePKCECodeChallenge(verifier);
      return pageUrl(() =>
        oidc.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          scope: scopes,
          ...{ state, nonce, code_challenge },
          code_challenge_method: 'S256',
        }),
      );
    },
    finish: (url, attempt) =>
      finish(url, attempt).catch((error) => {
        throw failed(error);
      }),
    examine: (redirectUri) =>
      examine(redirectUri).catch((error) => {
        throw failed(error);
      }),
    signOutUrl(idToken, back) {
      if (server.end_session_endpoint === undefined) return null;
      const hint = idToken === null ? {} : { id_token_hint: idToken };
      return pageUrl(() => oidc.buildEndSessionUrl(config, { ...hint, post_logout_redirect_uri: back }));
    },
    async readLogoutToken(token) {
      const { payload } = await verified(token, ['jti', 'events']);
      const { sub: subject, sid, jti, events, nonce } = payload;
      const event = (events as Record<string, unknown> | null | undefined)?.[LOGOUT_EVENT];
      if (typeof event !== 'object' || event === null) throw badAnswer('it is not a logout token');
      // An ID token has one, and would sign its person out.
      if (nonce !== undefined) throw badAnswer('a logout token with a nonce');
      if (!isId(jti)) throw badAnswer('a logout token without an ID');
      const isNamed = isId(subject) || isId(sid);
      if (!isNamed) throw badAnswer('a logout token names neither a person nor a session');
      return {
        issuer: server.issuer,
        jti,
        subject: isId(subject) ? subject : undefined,
        sid: isId(sid) ? sid : undefined,
      };
    },
  };

  async function examine(redirect_uri: string): Promise<string | null> {
    await keys.reload();
    // No code of anybody: a provider that knows the client refuses the code alone.
    const code = { code: 'tidings-doctor', redirect_uri, code_verifier: oidc.randomPKCECodeVerifier() };
    try {
      await oidc.genericGrantRequest(config, 'authorization_code', code);
      return null;
    } catch (error) {
      if (!(error instanceof oidc.ResponseBodyError)) throw error;
      return error.error === 'invalid_grant' ? null : error.error;
    }
  }

  /** A page that the browser opens: `javascript:` and plain http are no addresses of it. */
  function pageUrl(build: () => URL): string {
    try {
      const url = build();
      if (url.protocol === 'https:' || (isPlain && url.origin === new URL(issuer).origin)) return url.href;
      throw new Error(`${url.origin} is not https`);
    } catch (error) {
      throw unavailable(error);
    }
  }
}

/** Without characters that a database may not store, or not apart. */
const isId = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= MAX_ID_LENGTH && /^[^\p{Cc}\p{Cs}]+$/u.test(value);

/** Basic unless the provider names methods without it, which is what its absence means. */
function chooseAuth(secret: string): oidc.ClientAuth {
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
  return (as, ...given) => {
    const methods = as.token_endpoint_auth_methods_supported;
    return (methods?.includes('client_secret_basic') === false ? post : basic)(as, ...given);
  };
}

/** The answer is wrong, in contrast to an outage or a setting. */
function isRefusedAnswer({ code }: oidc.ClientError): boolean {
  return /^OAUTH_(INVALID_RESPONSE|JWT_\w+|JSON_ATTRIBUTE_COMPARISON_FAILED|PARSE_ERROR|KEY_SELECTION_FAILED|UNSUPPORTED_OPERATION)$/.test(
    code ?? '',
  );
}

/** The keys could not be read, which says nothing about the token. */
const isOfKeys = ({ code }: joseErrors.JOSEError) =>
  ['ERR_JOSE_GENERIC', 'ERR_JWKS_INVALID', 'ERR_JWKS_TIMEOUT'].includes(code);

/** The `at_hash` of an access token: the left half of its hash. */
function halfHash(accessToken: string, { alg }: JWTHeaderParameters): string {
  const bits = (/\d+$/.exec(alg)?.[0] ?? '512') as '256' | '384' | '512';
  const hash = new Bun.CryptoHasher(`sha${bits}`).update(accessToken).digest();
  return hash.subarray(0, hash.length / 2).toString('base64url');
}

// `xms_edov` is the statement of a provider that has no `email_verified`: the owner of the domain was verified.
const hasAddress = ({ email, email_verified, xms_edov }: Claims['all']) =>
  email !== undefined && (email_verified ?? xms_edov) !== undefined;

/** An address and what says that it is verified belong together. */
const addressIn = ({ email, email_verified, xms_edov }: Claims['all']) => ({
  email,
  email_verified,
  xms_edov,
});

/** The ID token lacks what an account or a rule needs, which the provider may tell when asked. */
function isIncomplete(all: Claims['all'], { rules }: ProviderSettings): boolean {
  const needed = ['email', ...rules.flatMap(({ claim }) => claim ?? [])];
  return needed.some((name) => !Object.hasOwn(all, name));
}

function claimsOf(all: Claims['all']): Claims {
  const { email_verified, xms_edov } = all;
  const isVerified =
    email_verified === undefined ? [true, 1, '1'].includes(xms_edov as string) : email_verified === true;
  let email: string | null = null;
  try {
    // Letters that look like others, such as the sign for Kelvin, would become them in lower case.
    const isPlain = typeof all.email === 'string' && all.email === all.email.normalize('NFKC');
    email = isPlain ? requireEmail(all.email as string) : null;
  } catch {
    // No address that an account may have.
  }
  return { email, isVerified: isVerified && email !== null, all };
}

/**
 * Requests to the issuer's own origin, which the operator has named, and to the public internet. What the provider says about
 * itself can't lead into the network of this server. Follows no redirect.
 */
function guardedFetch(issuer: URL, plainHosts: ReadonlySet<string>) {
  const own = new Set([issuer.hostname]);
  const isOwnPlain = issuer.protocol === 'http:' || plainHosts.has(issuer.hostname);
  return async (
    address: string,
    init: { method?: string; headers?: HeadersInit; body?: unknown; signal?: AbortSignal | null },
  ): Promise<Response> => {
    const url = new URL(address);
    const isOwn = url.origin === issuer.origin;
    const options: PublicConnectOptions & { maxBytes: number } = {
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      signal: init.signal ?? undefined,
      ...(isOwn && { privateHosts: own, ...(isOwnPlain && { plainHosts: own }) }),
    };
    const headers = Object.fromEntries(new Headers(init.headers));
    const body = init.body == null ? undefined : String(init.body);
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const request = {
      method: init.method ?? 'GET',
      headers: { ...headers, ...length },
      ...(body && { body }),
    };
    const { status, headers: sent, text } = await requestPublic(url.href, request, options);
    if (status < 200 || status > 599) throw new RefusedDownload(`it answered with status ${status}`);
    const type = sent['content-type'];
    const hasBody = text !== '' && status !== 204 && status !== 304;
    return new Response(hasBody ? text : null, {
      status,
      ...(type && { headers: { 'content-type': type } }),
    });
  };
}

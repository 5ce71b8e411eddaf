import {
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from 'jose';
import { systemClock } from '../../src/lib/time.ts';
import {
  type IdentityProvider,
  identityProvider,
  type ProviderSettings,
} from '../../src/people/oidc/provider.ts';
import type { Rule } from '../../src/people/oidc/rules.ts';

// An identity provider on this machine that does as a test says, right or wrong. `real-identity-provider.ts` has a real one.

type Claims = Record<string, unknown>;
type Answer = (request: Request) => Response | Promise<Response>;

export const CLIENT = { clientId: 'tidings', clientSecret: 'a-secret:with/signs+%' };

export interface SignInOptions {
  claims?: Claims;
  header?: Partial<JWTHeaderParameters>;
  /** In place of a token that the provider signs. */
  idToken?: (claims: Claims) => string | Promise<string>;
}

async function newKeys(kid: string) {
  const pair = await generateKeyPair('RS256', { extractable: true });
  const publicPem = await exportSPKI(pair.publicKey);
  const jwk = { ...(await exportJWK(pair.publicKey)), kid, alg: 'RS256', use: 'sig' };
  return { kid, ...pair, publicPem, jwk };
}

/** Each provider begins with it, because a pair takes a tenth of a second to find. */
const firstKeys = await newKeys('first');

export async function startIdentityProvider() {
  const codes = new Map<string, { nonce: string; challenge: string; options: SignInOptions }>();
  const requests: string[] = [];
  /** By path: in place of what a provider would answer. */
  const answers = new Map<string, Answer>();
  let metadata: Claims = {};
  let keys = firstKeys;
  let published = [keys];
  let userInfo: Claims | null = null;

  const now = () => Math.floor(Date.now() / 1000);
  const sign = (claims: JWTPayload, header: Partial<JWTHeaderParameters> = {}) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: keys.kid, ...header }).sign(keys.privateKey);

  const server: Bun.Server<undefined> = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request): Promise<Response> {
      const { pathname } = new URL(request.url);
      requests.push(`${request.method} ${pathname}`);
      const answer = answers.get(pathname);
      if (answer !== undefined) return answer(request);
      if (pathname === '/.well-known/openid-configuration') {
        return Response.json({
          issuer: issuer(),
          authorization_endpoint: `${issuer()}/authorize`,
          token_endpoint: `${issuer()}/token`,
          jwks_uri: `${issuer()}/keys`,
          userinfo_endpoint: `${issuer()}/userinfo`,
          end_session_endpoint: `${issuer()}/sign-out`,
          authorization_response_iss_parameter_supported: true,
          id_token_signing_alg_values_supported: ['RS256', 'none', 'HS256'],
          ...metadata,
        });
      }
      if (pathname === '/keys') return Response.json({ keys: published.map(({ jwk }) => jwk) });
      if (pathname === '/userinfo') return Response.json(userInfo ?? { sub: 'ann' });
      if (pathname === '/token') return token(request);
      return new Response('not here', { status: 404 });
    },
  });
  const issuer = (): string => `http://127.0.0.1:${server.port}`;

  async function token(request: Request): Promise<Response> {
    const refuse = (error: string) => Response.json({ error }, { status: 400 });
    const basic = Buffer.from(request.headers.get('authorization')?.replace('Basic ', '') ?? '', 'base64');
    const [id, secret] = basic
      .toString()
      .split(':')
      .map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
    if (id !== CLIENT.clientId || secret !== CLIENT.clientSecret) return refuse('invalid_client');
    const body = new URLSearchParams(await request.text());
    const code = codes.get(body.get('code') ?? '');
    codes.delete(body.get('code') ?? '');
    const challenge = new Bun.CryptoHasher('sha256').update(body.get('code_verifier') ?? '');
    if (code === undefined || challenge.digest('base64url') !== code.challenge)
      return refuse('invalid_grant');
    const { claims, header, idToken } = code.options;
    const all = { ...provider.claims(), nonce: code.nonce, ...claims };
    const id_token = await (idToken === undefined ? sign(all, header) : idToken(all));
    return Response.json({ access_token: 'access', token_type: 'Bearer', expires_in: 60, id_token });
  }

  const provider = {
    requests,
    answers,
    sign,
    get issuer() {
      return issuer();
    },
    /** As PEM. */
    get publicKey() {
      return keys.publicPem;
    },
    /** The claims of an ID token about Ann. */
    claims: (): Claims => ({
      iss: issuer(),
      sub: 'ann',
      aud: CLIENT.clientId,
      iat: now(),
      exp: now() + 300,
      sid: 'session-1',
      email: 'ann@acme.example',
      email_verified: true,
    }),
    /** A logout token about Ann. */
    logoutToken: (claims: Claims = {}, header?: Partial<JWTHeaderParameters>) =>
      sign(
        {
          iss: issuer(),
          aud: CLIENT.clientId,
          iat: now(),
          exp: now() + 120,
          jti: crypto.randomUUID(),
          sub: 'ann',
          events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
          ...claims,
        },
        { typ: 'logout+jwt', ...header },
      ),
    describe(changes: Claims) {
      metadata = changes;
    },
    tell(about: Claims) {
      userInfo = about;
    },
    /** Signs with a new key from now on. `publishes`: it is in the list of keys. */
    async rotate(kid: string, publishes = true) {
      keys = await newKeys(kid);
      if (publishes) published = [keys];
    },
    /** The address that the provider sends the browser back to, from the one that it was sent to. */
    answerTo(signInUrl: string, options: SignInOptions = {}): string {
      const { searchParams } = new URL(signInUrl);
      const code = crypto.randomUUID();
      const given = (name: string) => searchParams.get(name) ?? '';
      codes.set(code, { nonce: given('nonce'), challenge: given('code_challenge'), options });
      return `${given('redirect_uri')}?${new URLSearchParams({ code, state: given('state'), iss: issuer() })}`;
    },
    settings: (rules: readonly Rule[] = [], more: Partial<ProviderSettings> = {}): ProviderSettings => ({
      ...CLIENT,
      issuer: issuer(),
      name: 'Acme SSO',
      scopes: 'openid email',
      rules,
      hasPasswords: true,
      ...more,
    }),
    service: (rules?: readonly Rule[], more?: Partial<ProviderSettings>): IdentityProvider =>
      identityProvider(provider.settings(rules, more), { clock: systemClock }),
    [Symbol.dispose]: () => void server.stop(true),
  };
  return provider;
}

export type TestProvider = Awaited<ReturnType<typeof startIdentityProvider>>;

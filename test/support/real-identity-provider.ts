import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
// @ts-expect-error The package has no types.
import Provider from 'oidc-provider';

// `oidc-provider` from npm in this process: a certified OpenID provider that knows nothing of Tidings.

const PEOPLE: Record<string, object> = {
  ann: { email: 'ann@acme.example', email_verified: true, groups: ['staff', 'leads'] },
  bob: { email: 'bob@other.example', email_verified: true, groups: [] },
};

export const REAL_CLIENT = { clientId: 'tidings', clientSecret: 'a-secret-of-the-real-provider' };

/** `publicUrl`: of Tidings, which the provider leads back to, and whose server it tells of sign-outs. */
export async function startRealProvider(publicUrl: string) {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: REAL_CLIENT.clientId,
        client_secret: REAL_CLIENT.clientSecret,
        redirect_uris: [`${publicUrl}/dashboard/~/oidc/callback`],
        post_logout_redirect_uris: [`${publicUrl}/dashboard/~/sign-in`],
        backchannel_logout_uri: `${publicUrl}/dashboard/~/oidc/logout`,
        backchannel_logout_session_required: true,
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    scopes: ['openid', 'email', 'groups'],
    features: {
      devInteractions: { enabled: true },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: { enabled: true },
    },
    pkce: { required: () => true },
    cookies: { keys: ['a key for cookies of tests'] },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: async () => ({ sub: id, ...PEOPLE[id] }),
    }),
  });
  const notices: string[] = [];
  provider.on('backchannel.success', () => notices.push('told'));
  provider.on('backchannel.error', (_: unknown, error: Error) => notices.push(error.message));
  server.on('request', provider.callback());
  return {
    issuer,
    /** Whether the provider could tell Tidings of each sign-out. */
    notices,
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

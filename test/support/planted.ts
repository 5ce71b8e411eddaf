import { hmacSha256 } from '../../src/providers/provider.ts';

/** A server, and everything about it that must not be written down anywhere. */
export interface Planted {
  url: string;
  key: string;
  github: { path: string; secret: string };
  linear: { path: string; secret: string };
  setupToken: string;
  passwordToken: string;
  inviteToken: string;
  metricsToken: string;
  session: string;
  password: string;
  wrongPassword: string;
  /** A value that was never issued, and is sent anyway. */
  strangeKey: string;
  strangeCookie: string;
  refusedBody: string;
}

type Send = () => Promise<Response>;

const AT_ONCE = 16;

/** Sends the requests in turn, from the beginning again after the last, until `count` were sent. Returns the statuses. */
export async function inTurn(requests: readonly Send[], count: number): Promise<number[]> {
  const statuses: number[] = [];
  let next = 0;
  async function work(): Promise<void> {
    while (next < count) {
      const send = requests[next++ % requests.length];
      const response = await send?.();
      await response?.bytes();
      if (response !== undefined) statuses.push(response.status);
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return statuses;
}

/** A request of each kind, good ones and bad ones. Signs in on the way, and fills in `session` and `inviteToken`. */
export async function requestsWith(planted: Planted): Promise<Send[]> {
  planted.session = await signIn(planted);
  const invited = await postForm(
    planted,
    '/dashboard/acme/settings/members/invitations',
    { role: 'member' },
    cookie(planted),
  );
  planted.inviteToken = /invitation\?token=([\w-]+)/.exec(await invited.text())?.[1] ?? '';
  return [...contentRequests(planted), ...dashboardRequests(planted), ...deliveryRequests(planted)];
}

/** The person chooses a password by the link that they were given. */
async function signIn(planted: Planted): Promise<string> {
  const { passwordToken: token, password } = planted;
  const response = await postForm(planted, '/dashboard/~/password', { token, password, again: password });
  const set = response.headers.getSetCookie().find((each) => each.startsWith('tidings_session='));
  return /=([^;]+)/.exec(set ?? '')?.[1] ?? '';
}

const cookie = ({ session }: Planted) => ({ cookie: `tidings_session=${session}` });

function postForm(
  { url }: Planted,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin', ...headers },
    body: new URLSearchParams(fields),
  });
}

function contentRequests({ url, key, strangeKey, metricsToken, refusedBody }: Planted): Send[] {
  const get = (path: string, authorization?: string, method = 'GET') => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    return () => fetch(`${url}${path}`, { method, headers });
  };
  return [
    get('/v1/acme/posts', `Bearer ${key}`),
    get('/v1/acme/posts/post_1', `Bearer ${key}`),
    get('/v1/acme/posts?limit=x', `Bearer ${key}`),
    get('/v1/other/posts', `Bearer ${key}`),
    get('/v1/acme/posts', `Bearer ${strangeKey}`),
    get('/v1/acme/posts', `Basic ${strangeKey}`),
    get(`/v1/acme/posts?key=${key}`),
    get(`/v1/acme/posts?access_token=${strangeKey}`, `Bearer ${key}`),
    get(`/v1/${key}/posts`),
    get(`/v1/acme/posts/${strangeKey}`, `Bearer ${key}`),
    get('/v1/acme/posts', `Bearer ${key}`, 'DELETE'),
    get('/ping'),
    get('/ready'),
    get('/openapi.json'),
    get('/metrics', `Bearer ${metricsToken}`),
    get(`/metrics?token=${metricsToken}`),
    get('/metrics', `Bearer ${strangeKey}`),
    () => fetch(`${url}/nope`, { method: 'POST', body: refusedBody }),
    () => fetch(`${url}/nope`, { headers: { 'x-api-key': key, 'x-request-id': 'trace-0123456789' } }),
  ];
}

function dashboardRequests(planted: Planted): Send[] {
  const { url, setupToken, passwordToken, inviteToken, wrongPassword, strangeCookie } = planted;
  const visit = (path: string, headers: Record<string, string> = cookie(planted)) => {
    return () => fetch(`${url}${path}`, { headers, redirect: 'manual' });
  };
  const send = (path: string, fields: Record<string, string>, headers?: Record<string, string>) => () =>
    postForm(planted, path, fields, headers);
  return [
    visit('/dashboard/acme/posts'),
    visit('/dashboard/acme/deliveries'),
    visit('/dashboard/acme/integrations'),
    visit('/dashboard/acme/settings/keys'),
    visit('/dashboard/acme/settings/members'),
    visit('/dashboard/other/posts'),
    visit('/dashboard/acme/posts', { cookie: `tidings_session=${strangeCookie}` }),
    visit(`/setup?token=${setupToken}`, {}),
    visit(`/dashboard/~/password?token=${passwordToken}`, {}),
    visit(`/dashboard/~/invitation?token=${inviteToken}`, {}),
    visit(
      `/dashboard/~/sign-in?to=${encodeURIComponent(`/dashboard/~/invitation?token=${inviteToken}`)}`,
      {},
    ),
    send('/setup', { token: setupToken, email: 'not one', password: wrongPassword, organization: 'X' }),
    send('/dashboard/~/sign-in', { email: 'ann@acme.example', password: wrongPassword }),
    send('/dashboard/~/password', { token: passwordToken, password: wrongPassword, again: 'x' }),
    send('/dashboard/~/invitation', { token: inviteToken, email: 'bad', password: wrongPassword }),
    send('/dashboard/acme/settings/keys', { name: '' }, cookie(planted)),
    send('/dashboard/~/sign-in', { password: wrongPassword }, { 'sec-fetch-site': 'cross-site' }),
  ];
}

function deliveryRequests({ url, github, linear, refusedBody }: Planted): Send[] {
  let sent = 0;
  const deliver = (
    body: string,
    {
      secret = github.secret,
      event = 'ping',
      path = github.path,
      headers = {},
    }: {
      secret?: string;
      event?: string;
      path?: string;
      headers?: Record<string, string>;
    } = {},
  ) => {
    return () =>
      fetch(`${url}${path}`, {
        method: 'POST',
        body,
        headers: {
          'content-type': 'application/json',
          'x-github-event': event,
          'x-github-delivery': `delivery-${sent++}`,
          'x-hub-signature-256': `sha256=${hmacSha256(secret, body)}`,
          ...headers,
        },
      });
  };
  const refused = JSON.stringify({ zen: refusedBody });
  const linearBody = JSON.stringify({ data: refusedBody, webhookTimestamp: 0 });
  const linearHeaders = (secret: string) => ({
    'linear-event': 'Issue',
    'linear-delivery': 'one',
    'linear-signature': hmacSha256(secret, linearBody),
  });
  return [
    deliver('{"zen":"Keep it logically awesome."}'),
    deliver('{"zen":"Keep it logically awesome."}', { headers: { 'x-github-delivery': 'again' } }),
    deliver(refused, { secret: 'not the secret' }),
    deliver(refused, { event: 'release' }),
    deliver(`{${refusedBody}`),
    deliver(refused, { path: `${github.path}x` }),
    deliver(refused, { path: `${github.path}?secret=${github.secret}`, secret: 'wrong' }),
    deliver(refused, { headers: { 'x-hub-signature-256': github.secret } }),
    deliver(refused, { headers: { authorization: `Bearer ${github.secret}` }, secret: 'wrong' }),
    deliver(linearBody, { path: linear.path, headers: linearHeaders('wrong') }),
    deliver(linearBody, { path: linear.path, headers: linearHeaders(linear.secret) }),
  ];
}

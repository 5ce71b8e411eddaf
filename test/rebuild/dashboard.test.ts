import { afterAll, beforeEach, expect, test } from 'bun:test';
import { listMessages } from '../../src/readers/hooks/message-store.ts';
import { listHooks } from '../../src/readers/hooks/model.ts';
import { queueNotices } from '../../src/readers/hooks/notices.ts';
import { createHookSender } from '../../src/readers/hooks/send.ts';
import { createHook } from '../../src/readers/hooks/service.ts';
import { cookieOf, hostile, isHarmed, pageVisitor } from '../support/dashboard.ts';
import { LOCAL_HOSTS, startHookReceiver } from '../support/hook-receiver.ts';
import { appWithOrganization } from '../support/test-app.ts';

const receiver = startHookReceiver();
afterAll(() => receiver[Symbol.dispose]());
beforeEach(() => {
  receiver.requests.length = 0;
  receiver.responses.clear();
});

const HOOKS = '/dashboard/org_a/publishing/hooks';
const noticeOf = (response: Response) => decodeURIComponent(cookieOf(response, 'tidings_notice') ?? '');

const item = {
  id: 'trigger_failed:trigger_1',
  organizationId: 'org_a',
  kind: 'trigger_failed',
  subject: 'trigger_1',
  since: '2026-11-20T12:00:00.000Z',
  count: 2,
  message: '2 drafts were given up',
  effect: 'These drafts are missing.',
  action: 'tidings trigger retry trigger_1',
  path: 'integrations/int_1/triggers/trigger_1',
  mutedUntil: null,
};

async function world() {
  const app = await appWithOrganization({
    organizations: ['org_a', 'org_b'],
    hookPrivateHosts: LOCAL_HOSTS,
  });
  const owner = await pageVisitor(app);
  const hooks = () => app.db.read((tx) => listHooks(tx, 'org_a'));
  const add = (kind: string, path = '/hook', fields: Record<string, string> = {}) =>
    owner(HOOKS, { kind, name: 'Website', url: receiver.at(path), ...fields });
  const text = async (path: string) => (await owner(path)).text();
  return { app, owner, hooks, add, text, send: createHookSender(app.deps) };
}

test('the form names the fields of each kind, and adding shows the secret once', async () => {
  const { add, text, hooks } = await world();
  expect(await text(HOOKS)).toContain('No hooks yet');
  expect(await text(`${HOOKS}/~/new?kind=netlify`)).toContain('https://api.netlify.com/build_hooks/');
  expect(await text(`${HOOKS}/~/new?kind=slack`)).toContain('https://hooks.slack.com/services/');
  const shown = await (await add('signed')).text();
  const [secret = ''] = /whsec_[A-Za-z0-9+/=]+/.exec(shown) ?? [];
  expect(secret).toHaveLength(50);
  const [hook] = await hooks();
  for (const path of [HOOKS, `${HOOKS}/${hook?.id}`]) {
    const page = await text(path);
    expect(page).toContain('Website');
    expect(page).not.toContain(secret);
    expect(page).not.toContain(receiver.at('/hook'));
  }
  const redirected = await add('vercel');
  expect(redirected.headers.get('location')).toStartWith(`${HOOKS}/hook_`);
});

test('a hook can tell what needs attention, unless it starts builds', async () => {
  const { app, add, hooks, text, send } = await world();
  const form = await text(`${HOOKS}/~/new?kind=slack`);
  for (const about of ['posts', 'attention', 'attention-and-server'])
    expect(form).toContain(`value="${about}"`);
  expect(await text('/dashboard/org_a/attention')).toContain(
    'href="/dashboard/org_a/publishing/hooks/~/new?kind=slack&amp;about=attention"',
  );
  expect(await text(`${HOOKS}/~/new?kind=slack&about=attention`)).toMatch(/value="attention" checked/);
  expect(await text(`${HOOKS}/~/new?kind=netlify`)).not.toContain('value="attention"');
  const refused = await add('netlify', '/hook', { about: 'attention' });
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('must be posts')]);

  await add('slack', '/hook', { about: 'attention' });
  const [hook] = await hooks();
  expect(hook).toMatchObject({ kind: 'slack', about: 'attention' });
  expect(await text(HOOKS)).toContain('Attention');
  const changes = { begun: [{ ...item, message: hostile }], ended: [] };
  await app.db.write((tx) => queueNotices(tx, app.deps, changes));
  await send();
  expect(receiver.requests).toHaveLength(1);
  const [message] = await app.db.read((tx) => listMessages(tx, hook?.id ?? '', { limit: 1 }));
  for (const path of ['', `/messages/${message?.id}`]) {
    const page = await text(`${HOOKS}/${hook?.id}${path}`);
    expect(page).toContain('Began');
    expect(isHarmed(page)).toBeFalse();
  }
});

test.each([
  [
    'http://example.com/',
    'The URL must be an https URL. To allow this host, set HOOK_PRIVATE_HOSTS=example.com for the server and for commands',
  ],
  ['https://10.0.0.1/', 'The URL must be on the public internet.'],
  ['https://[::1]/', 'The URL must be on the public internet.'],
  ['https://localhost/', 'The URL must be on the public internet.'],
  ['https://ann:secret@example.com/', 'The URL must not contain a password.'],
  ['ftp://example.com/', 'The URL must be an https URL, such as'],
  ['', 'The URL must not be empty.'],
])('the URL %p is refused, and what was typed stays', async (url, problem) => {
  const { add, hooks } = await world();
  const response = await add('signed', '', { url });
  expect(response.status).toBe(400);
  const page = await response.text();
  expect(page).toContain(problem);
  expect(page).toContain('value="Website"');
  expect(await hooks()).toEqual([]);
});

test('an organization has 20 hooks at most', async () => {
  const { app, add } = await world();
  for (let at = 0; at < 20; at++) expect((await add('vercel')).status).toBe(303);
  const refused = await add('vercel');
  expect(refused.status).toBe(409);
  expect(await refused.text()).toContain('An organization can have 20 hooks. Delete one first.');
  const other = { organizationId: 'org_b', name: 'Site', kind: 'signed', url: receiver.at('/') } as const;
  expect((await createHook(app.deps, other)).id).toStartWith('hook_');
});

test('a test message shows its response, and a failed one its reason', async () => {
  const { owner, add, hooks } = await world();
  await add('signed');
  const path = `${HOOKS}/${(await hooks())[0]?.id}`;
  const sent = await owner(`${path}/test`, {});
  expect(noticeOf(sent)).toMatch(/Test message sent. Responded 204 in \d+ ms/);
  receiver.responses.set('/hook', [() => new Response(hostile, { status: 500 })]);
  const failed = await (await owner(`${path}/test`, {})).text();
  expect(failed).toContain('The test message failed.');
  expect(failed).toContain('Responded 500.');
  expect(isHarmed(failed)).toBeFalse();
});

test('messages, their attempts and responses are shown, and failed ones are sent again', async () => {
  const { app, owner, add, hooks, text, send } = await world();
  await add('signed');
  const [hook] = await hooks();
  const path = `${HOOKS}/${hook?.id}`;
  receiver.responses.set('/hook', [() => new Response('out of order', { status: 410 })]);
  await app.addPosts('org_a', { id: 'p1', title: hostile });
  await send();
  const page = await text(path);
  expect(page).toContain('The receiver responded 410 Gone');
  expect(isHarmed(page)).toBeFalse();
  const refused = await owner(`${path}/resend`, {});
  expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining('Enable it first')]);

  receiver.responses.clear();
  await owner(`${path}/enable`, {});
  expect(await text(path)).toContain('Send all failed again');
  expect(noticeOf(await owner(`${path}/resend`, {}))).toContain('Sending 1 message again.');
  await send();
  const [message] = await app.db.read((tx) => listMessages(tx, hook?.id ?? '', { limit: 1 }));
  const one = await text(`${path}/messages/${message?.id}`);
  expect(one).toContain('The receiver accepted it.');
  expect(one).toContain('out of order');
  await owner(`${path}/messages/${message?.id}/resend`, {});
  expect(await text(`${path}/messages/${message?.id}`)).toContain('Waiting to be sent.');
  await send();
  expect(receiver.requests).toHaveLength(3);
});

test('the secret rotates, and the hook is disabled and deleted', async () => {
  const { owner, add, hooks, text } = await world();
  await add('signed');
  const path = `${HOOKS}/${(await hooks())[0]?.id}`;
  const rotated = await (await owner(`${path}/rotate`, {})).text();
  expect(rotated).toContain('whsec_');
  expect(rotated).toContain('also signs each request for the next 24 hours');
  await owner(`${path}/disable`, {});
  expect(await text(path)).toContain('tag disabled');
  expect((await owner(`${path}/delete`, {})).headers.get('location')).toBe(HOOKS);
  expect(await hooks()).toEqual([]);
});

test('members see hooks without changing them; other organizations do not find them', async () => {
  const { app, add, hooks } = await world();
  await add('signed');
  const path = `/publishing/hooks/${(await hooks())[0]?.id}`;
  const member = await pageVisitor(app, { role: 'member' });
  const page = await (await member(`/dashboard/org_a${path}`)).text();
  expect(page).toContain('Send test message');
  expect(page).not.toContain('Delete hook');
  for (const change of ['disable', 'rotate', 'delete']) {
    expect((await member(`/dashboard/org_a${path}/${change}`, {})).status).toBe(403);
  }
  const other = await pageVisitor(app, { organizationId: 'org_b' });
  for (const part of ['', '/messages/msg_1']) {
    expect((await other(`/dashboard/org_b${path}${part}`)).status).toBe(404);
  }
  for (const change of ['test', 'disable', 'rotate', 'delete', 'resend']) {
    expect((await other(`/dashboard/org_b${path}/${change}`, {})).status).toBe(404);
  }
  expect(receiver.requests).toEqual([]);
});

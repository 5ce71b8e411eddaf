import { expect, test } from 'bun:test';
import { LinearClient } from '@linear/sdk';
import { LinearWebhookClient } from '@linear/sdk/webhooks';
import { fixedClock } from './clock.ts';
import { extractSchema, SCHEMA_FILE } from './linear-api/extract-schema.ts';
import { startLinearApi } from './linear-api/server.ts';
import type { LinearHook } from './linear-api/workspace.ts';

// Linear's own SDK proves the stand-in: its queries, its parsing of errors, its check of deliveries.

const SECRET = 'a secret of a webhook';

interface Received {
  headers: Headers;
  body: string;
}

/** The stand-in, and a receiver of its deliveries. */
function start(clock = fixedClock()) {
  const linear = startLinearApi({ clock });
  const received: Received[] = [];
  const receiver = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      received.push({ headers: request.headers, body: await request.text() });
      return new Response('thanks', { status: 202 });
    },
  });
  const client = (token = linear.adminKey) => new LinearClient({ apiKey: token, apiUrl: linear.url });
  return {
    clock,
    linear,
    received,
    client,
    receiverUrl: `http://127.0.0.1:${receiver.port}/hook`,
    [Symbol.dispose]() {
      linear[Symbol.dispose]();
      receiver.stop(true);
    },
  };
}

function teamId({ linear }: ReturnType<typeof start>, key: string): string {
  const team = linear.workspace.teams.find((one) => one.key === key);
  if (team === undefined) throw new Error(`There is no team ${key}`);
  return team.id;
}

test('the schema matches the installed SDK', async () => {
  expect(await extractSchema()).toBe(await Bun.file(SCHEMA_FILE).text());
});

test("the SDK's own methods create, change and delete a webhook", async () => {
  using world = start();
  const client = world.client();
  const made = await client.createWebhook({
    url: 'https://tidings.example/hook',
    resourceTypes: ['Issue'],
    teamId: 'ENG',
  });
  expect(made.success).toBe(true);
  const { hooks } = world.linear.workspace;
  const stored: LinearHook = {
    id: made.webhookId ?? '',
    url: 'https://tidings.example/hook',
    secret: null,
    label: null,
    resourceTypes: ['Issue'],
    enabled: true,
    allPublicTeams: false,
    teamId: teamId(world, 'ENG'),
  };
  expect(hooks).toEqual([stored]);
  expect((await client.updateWebhook(stored.id, { enabled: false, label: 'News' })).success).toBe(true);
  expect(hooks).toEqual([{ ...stored, enabled: false, label: 'News' }]);
  expect((await client.deleteWebhook(stored.id)).entityId).toBe(stored.id);
  expect(hooks).toEqual([]);
  expect(world.linear.operations.flatMap(({ fields }) => fields)).toEqual([
    'webhookCreate',
    'webhookUpdate',
    'webhookDelete',
  ]);
});

const hook = { url: 'https://tidings.example/hook', resourceTypes: ['Issue'], allPublicTeams: true };
const refusedInput: [string, Record<string, unknown>, string][] = [
  ['no place', { allPublicTeams: false }, 'Either teamId or allPublicTeams must be given.'],
  ['two places', { teamId: 'ENG' }, 'Either teamId or allPublicTeams must be given.'],
  ['an unknown team', { allPublicTeams: false, teamId: 'OPS' }, 'Could not find referenced Team.'],
  ['no types', { resourceTypes: [] }, 'resourceTypes must be types of resources.'],
  ['an unknown type', { resourceTypes: ['issue'] }, 'resourceTypes must be types of resources.'],
  ['words for a URL', { url: 'tidings' }, 'url must be a URL address.'],
  [
    'an http URL',
    { url: 'http://tidings.example' },
    'url must be a publicly accessible HTTPS, non-localhost URL.',
  ],
];

test.each(refusedInput)('creates no webhook with %s', async (_, change, message) => {
  using world = start();
  await expect(world.client().createWebhook({ ...hook, ...change })).rejects.toThrow(message);
  expect(world.linear.workspace.hooks).toEqual([]);
});

test('a place has one webhook for a URL, created or changed', async () => {
  using world = start();
  const client = world.client();
  await client.createWebhook(hook);
  await expect(client.createWebhook(hook)).rejects.toThrow('Url not unique');
  const { webhookId = '' } = await client.createWebhook({ ...hook, url: 'https://other.example/hook' });
  await expect(client.updateWebhook(webhookId, { url: hook.url })).rejects.toThrow('Url not unique');
  await client.updateWebhook(webhookId, { url: 'https://other.example/hook' });
  expect(world.linear.workspace.hooks.map(({ url }) => url)).toEqual([
    hook.url,
    'https://other.example/hook',
  ]);
});

const refusedQueries: [string, string, Record<string, unknown>, string][] = [
  ['an unknown field', '{ viewer { nickname } }', {}, 'Cannot query field "nickname"'],
  ['a variable of another type', 'query ($id: Int!) { webhook(id: $id) { id } }', { id: 1 }, '"$id"'],
  [
    'input that lacks a field',
    'mutation ($input: WebhookCreateInput!) { webhookCreate(input: $input) { success } }',
    { input: { url: hook.url } },
    'resourceTypes',
  ],
  ['text that is not a query', 'teams, please', {}, 'Syntax Error'],
  ['a page that is too large', '{ teams(first: 251) { nodes { id } } }', {}, 'must not be greater'],
  [
    'a result that the schema does not allow',
    '{ teams { nodes { displayName } } }',
    {},
    'Cannot return null',
  ],
];

test.each(refusedQueries)('refuses %s', async (_, query, variables, message) => {
  using world = start();
  await expect(world.client().client.rawRequest(query, variables)).rejects.toThrow(message);
});

test.each([
  ['a personal key after Bearer', (key: string) => ({ accessToken: key }), 'as a Bearer token'],
  ['an OAuth token without Bearer', (_: string, token: string) => ({ apiKey: token }), 'not authenticated'],
])('refuses %s', async (_, credential, message) => {
  using world = start();
  const { adminKey, url, workspace } = world.linear;
  const token = workspace.addOAuthToken(['read'], { admin: true });
  const client = new LinearClient({ ...credential(adminKey, token), apiUrl: url });
  await expect(client.webhooks()).rejects.toThrow(message);
});

test('a workspace does not see the webhooks of another', async () => {
  using world = start();
  const other = world.linear.addWorkspace();
  const client = world.client(other.addKey({ admin: true }));
  const { webhookId = '' } = await world.client().createWebhook(hook);
  await expect(client.deleteWebhook(webhookId)).rejects.toThrow('Entity not found: Webhook');
  await client.createWebhook(hook);
  expect([world.linear.workspace.hooks.length, other.hooks.length]).toEqual([1, 1]);
});

test('deliveries are signed and have the headers of Linear', async () => {
  // The SDK refuses deliveries that are old by this machine's clock.
  using world = start(fixedClock(new Date().toISOString()));
  const { webhookId = '' } = await world
    .client()
    .createWebhook({ ...hook, url: world.receiverUrl, secret: SECRET });
  const data = { id: 'issue_1', title: 'Faster', teamId: teamId(world, 'ENG') };
  const delivered = await world.linear.emit({ type: 'Issue', action: 'create', data });
  const [{ headers, body } = { headers: new Headers(), body: '' }] = world.received;
  expect(delivered).toEqual([
    { hookId: webhookId, deliveryId: headers.get('linear-delivery') ?? '', status: 202, body: 'thanks' },
  ]);
  expect(headers.get('linear-event')).toBe('Issue');
  expect(headers.get('user-agent')).toBe('Linear-Webhook');
  const signature = headers.get('linear-signature') ?? '';
  expect(new LinearWebhookClient(SECRET).verify(Buffer.from(body), signature)).toBe(true);
  expect(() => new LinearWebhookClient('another').verify(Buffer.from(body), signature)).toThrow();
  expect(JSON.parse(body)).toEqual({
    type: 'Issue',
    action: 'create',
    data,
    createdAt: world.clock.now().toISOString(),
    organizationId: world.linear.workspace.id,
    webhookId,
    webhookTimestamp: world.clock.now().getTime(),
  });
});

test('a webhook receives only the events that it listens to', async () => {
  using world = start();
  const client = world.client();
  const made = async (input: object) =>
    (await client.createWebhook({ ...hook, url: world.receiverUrl, secret: SECRET, ...input })).webhookId ??
    '';
  const ofAll = await made({});
  const ofTeam = await made({ allPublicTeams: false, teamId: 'ENG' });
  const ofVault = await made({ allPublicTeams: false, teamId: 'VLT', resourceTypes: ['Issue', 'Project'] });
  await made({ url: `${world.receiverUrl}?off`, enabled: false });
  const receiversOf = async (type: string, key: string | null) => {
    const event = { type, action: 'update', data: {}, teamId: key && teamId(world, key) } as const;
    return (await world.linear.emit(event)).map(({ hookId }) => hookId);
  };
  expect(await receiversOf('Issue', 'ENG')).toEqual([ofAll, ofTeam]);
  expect(await receiversOf('Issue', 'DES')).toEqual([ofAll]);
  expect(await receiversOf('Issue', 'VLT')).toEqual([ofVault]);
  expect(await receiversOf('Issue', null)).toEqual([ofAll]);
  expect(await receiversOf('Project', 'ENG')).toEqual([]);
  expect(world.received).toHaveLength(5);
});

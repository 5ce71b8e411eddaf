import { beforeEach, describe, expect, test } from 'bun:test';
import { createRoundup, switchRoundup } from '../../src/drafting/roundups/service.ts';
import { createTrigger, switchTrigger } from '../../src/drafting/triggers/service.ts';
import { connectIntegration, setEnabled } from '../../src/integrations/connect.ts';
import { type AuditAction, auditActions, listAuditEvents } from '../../src/people/audit.ts';
import { importFile } from '../../src/posts/import/service.ts';
import { createHook } from '../../src/readers/hooks/service.ts';
import { form, signedIn } from '../support/dashboard.ts';
import { execute } from '../support/database.ts';
import { githubRequest } from '../support/deliveries.ts';
import { runAll } from '../support/drafts.ts';
import { refuseRows } from '../support/faults.ts';
import { releaseOf } from '../support/hooks.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';
import { createUnkeyApp } from '../support/unkey-app.ts';

// Each action leaves exactly one event; refused actions and those that change nothing leave none.

const ADDRESS = '203.0.113.7';

/** An organization with one of everything, and its owner at `ADDRESS`. */
async function createWorld() {
  const app = await appWithOrganization({
    clientIpHeader: 'x-client-ip',
    assistant: { url: 'https://ai.test/v1', model: 'small' },
  });
  const ann = await signedIn(app, { organizationId: 'org_a', email: 'ann@acme.example' });
  const bob = await signedIn(app, { organizationId: 'org_a', role: 'member', email: 'bob@acme.example' });
  const key = await app.addKey('org_a');
  const revoked = await app.addKey('org_a');
  await app.deps.keys.revokeKey(revoked.id);
  const [draft, published] = await app.addPosts(
    'org_a',
    { title: 'A draft', status: 'draft' },
    { title: 'A post', status: 'published' },
  );
  const connected = await connectIntegration(app.deps, 'github', 'org_a', 'acme/rocket');
  const { integrationId } = connected;
  const trigger = await createTrigger(app.deps, {
    integrationId,
    event: 'release',
    contentType: 'changelog',
    publish: true,
  });
  const roundup = await createRoundup(app.deps, 'org_a', {
    ...{ name: 'Weekly', cadence: 'weekly', weekday: 1, time: '09:00', timeZone: 'UTC' },
    ...{ groupBy: 'kind', whenEmpty: 'skip', contentType: 'changelog' },
    sources: [{ integrationId, repositoryId: null, team: null }],
  });
  const hook = await createHook(app.deps, {
    organizationId: 'org_a',
    name: 'Site',
    kind: 'signed',
    url: 'https://acme.example/hook',
  });
  const ids: Record<string, string> = {
    hook: hook.id,
    roundup: roundup.id,
    key: key.id,
    revoked: revoked.id,
    draft: draft?.id ?? '',
    published: published?.id ?? '',
    integration: integrationId,
    repository: connected.repositoryId ?? '',
    trigger: trigger.id,
    ann: ann.user.id,
    bob: bob.user.id,
  };
  await execute(app.db, 'DELETE FROM audit_events');
  app.logged.length = 0;
  const idIn = (text: string) => (text.startsWith(':') ? (ids[text.slice(1)] ?? text) : text);
  /** Sends a form of the dashboard; `:name` in the path, or as a value, stands for an id. */
  const send = (path: string, fields: Record<string, string> = {}, as = ann) =>
    as(`/dashboard/org_a/${path.replaceAll(/:(\w+)/g, (_, name: string) => ids[name] ?? name)}`, {
      ...form(Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, idIn(value)]))),
      headers: { 'x-client-ip': ADDRESS },
    });
  const events = () => app.db.read((tx) => listAuditEvents(tx, undefined, {}, 1_000));
  return { app, ids, ann, bob, key, connected, send, events };
}

type World = Awaited<ReturnType<typeof createWorld>>;

let world: World;

beforeEach(async () => {
  world = await createWorld();
});

interface Case {
  action: AuditAction;
  path: string;
  fields?: Record<string, string>;
  target: string;
  summary: string;
  before?: (world: World) => Promise<unknown>;
}

const TRIGGER = 'integrations/:integration/triggers/:trigger';
const ROUNDUP = 'triggers/roundups/:roundup';
const post = (title: string, status: string) => ({ title, markdown: '**Text**', status });

const cases: Case[] = [
  {
    action: 'post.published',
    path: 'posts/:draft',
    fields: post('Ready', 'published'),
    target: 'post',
    summary: 'published the post “Ready”',
  },
  {
    action: 'post.unpublished',
    path: 'posts/:published',
    fields: post('A post', 'draft'),
    target: 'post',
    summary: 'unpublished the post “A post”',
  },
  {
    action: 'post.deleted',
    path: 'posts/:published/delete',
    target: 'post',
    summary: 'deleted the post “A post”',
  },
  {
    action: 'post.scheduled',
    path: 'posts/:draft/schedule',
    fields: { publishAt: '2026-11-24T09:00', timeZone: 'Europe/Berlin' },
    target: 'post',
    summary: 'scheduled the post “A draft” for Nov 24, 2026, 09:00 (Europe/Berlin)',
  },
  {
    action: 'post.unscheduled',
    path: 'posts/:draft/schedule/cancel',
    target: 'post',
    summary: 'canceled the schedule of the post “A draft”',
    before: ({ send }) => send('posts/:draft/schedule', { publishAt: '2026-11-24T09:00', timeZone: 'UTC' }),
  },
  {
    action: 'post.changed',
    path: 'posts/:published/date',
    fields: { createdAt: '2025-01-31T09:00', timeZone: 'UTC' },
    target: 'post',
    summary: 'set the date of the post “A post” to Jan 31, 2025, 09:00 UTC',
  },
  {
    action: 'post.changed',
    path: 'posts/:published',
    fields: { contentType: 'linkedin_post' },
    target: 'post',
    summary: 'changed the type of the post “A post” to linkedin post',
  },
  {
    action: 'post.restored',
    path: 'posts/~/trash/restore?ids=post_2',
    target: 'post',
    summary: 'restored the post “A post”',
    before: ({ send }) => send('posts/:published/delete'),
  },
  {
    action: 'post.erased',
    path: 'posts/~/trash/erase',
    fields: { id: 'post_2' },
    target: 'post',
    summary: 'deleted for good the post “A post”',
    before: ({ send }) => send('posts/:published/delete'),
  },
  {
    action: 'key.created',
    path: 'settings/keys',
    fields: { name: 'Website, production' },
    target: 'key',
    summary: 'created the API key “Website, production”',
  },
  {
    action: 'key.revoked',
    path: 'settings/keys/:key/revoke',
    target: 'key',
    summary: 'revoked the API key “Test”',
  },
  {
    action: 'key.deleted',
    path: 'settings/keys/:key/delete',
    target: 'key',
    summary: 'deleted the API key “Test”',
  },
  {
    action: 'integration.connected',
    path: 'integrations/github',
    fields: { repository: 'acme/engine' },
    target: 'integration',
    summary: 'connected the GitHub integration acme/engine',
  },
  {
    action: 'integration.connected',
    path: 'integrations/linear',
    target: 'integration',
    summary: 'connected the Linear integration',
  },
  {
    action: 'integration.disabled',
    path: 'integrations/:integration/disable',
    target: 'integration',
    summary: 'disabled the GitHub integration acme/rocket',
  },
  {
    action: 'integration.enabled',
    path: 'integrations/:integration/enable',
    target: 'integration',
    summary: 'enabled the GitHub integration acme/rocket',
    before: ({ app, ids }) => setEnabled(app.deps, ids.integration ?? '', false),
  },
  {
    action: 'integration.place_added',
    path: 'integrations/:integration/add',
    fields: { repository: 'acme/engine' },
    target: 'integration',
    summary: 'added acme/engine to the GitHub integration acme/rocket',
  },
  {
    action: 'integration.place_removed',
    path: 'integrations/:integration/remove',
    fields: { place: 'acme/rocket' },
    target: 'integration',
    summary: 'removed acme/rocket from the GitHub integration acme/engine and 1 more',
    before: ({ send }) => send('integrations/:integration/add', { repository: 'acme/engine' }),
  },
  {
    action: 'secret.rotated',
    path: 'integrations/:integration/secret',
    target: 'integration',
    summary: 'rotated the webhook secret of the GitHub integration acme/rocket',
  },
  {
    action: 'integration.disconnected',
    path: 'integrations/:integration/disconnect',
    target: 'integration',
    summary: 'disconnected the GitHub integration acme/rocket',
  },
  {
    action: 'trigger.created',
    path: 'integrations/:integration/triggers',
    fields: { event: 'release', contentType: 'linkedin_post' },
    target: 'trigger',
    summary: 'created the trigger “release → linkedin post”',
  },
  {
    action: 'trigger.changed',
    path: TRIGGER,
    fields: { contentType: 'changelog', bodyTemplate: 'Secret words' },
    target: 'trigger',
    summary: 'changed the trigger “release → changelog”: body template, publishing',
  },
  {
    action: 'trigger.disabled',
    path: `${TRIGGER}/disable`,
    target: 'trigger',
    summary: 'disabled the trigger “release → changelog”, which publishes at once',
  },
  {
    action: 'trigger.enabled',
    path: `${TRIGGER}/enable`,
    target: 'trigger',
    summary: 'enabled the trigger “release → changelog”, which publishes at once',
    before: ({ app, ids }) => switchTrigger(app.deps, ids.trigger ?? '', false),
  },
  {
    action: 'trigger.deleted',
    path: `${TRIGGER}/delete`,
    target: 'trigger',
    summary: 'deleted the trigger “release → changelog”, which publishes at once',
  },
  {
    action: 'member.invited',
    path: 'settings/members/invitations',
    fields: { role: 'owner' },
    target: 'organization',
    summary: 'created an invitation link for an owner',
  },
  {
    action: 'member.invitations_withdrawn',
    path: 'settings/members/invitations/withdraw',
    target: 'organization',
    summary: 'withdrew 1 invitation link',
    before: ({ send }) => send('settings/members/invitations', { role: 'member' }),
  },
  {
    action: 'member.role_changed',
    path: 'settings/members/:bob/role',
    fields: { role: 'owner' },
    target: 'user',
    summary: 'made bob@acme.example an owner',
  },
  {
    action: 'member.removed',
    path: 'settings/members/:bob/remove',
    target: 'user',
    summary: 'removed bob@acme.example',
  },
  {
    action: 'organization.changed',
    path: 'settings',
    fields: { name: 'Acme', plan: 'pro' },
    target: 'organization',
    summary:
      'renamed the organization from “Organization org_a” to “Acme” and changed the plan from free to pro',
  },
  {
    action: 'assistant.changed',
    path: 'settings/assistant',
    fields: { voice: 'Dry', examples: '', dailyRequests: '200', dailyBytes: '2000000' },
    target: 'organization',
    summary: 'changed the assistant: voice',
  },
  {
    action: 'publication.changed',
    path: 'publishing/agents',
    fields: { isMcpOn: 'true' },
    target: 'organization',
    summary: 'switched the endpoint for agents on',
  },
  {
    action: 'roundup.created',
    path: 'triggers/roundups',
    fields: { name: 'The month', time: '09:00', timeZone: 'UTC', sources: ':integration' },
    target: 'roundup',
    summary: 'created the roundup “The month”',
  },
  {
    action: 'roundup.changed',
    path: `${ROUNDUP}`,
    fields: { name: 'Renamed', time: '09:00', timeZone: 'UTC', sources: ':integration' },
    target: 'roundup',
    summary: 'changed the roundup “Renamed”',
  },
  ...(['enabled', 'disabled'] as const).map(
    (state): Case => ({
      action: `roundup.${state}`,
      path: `${ROUNDUP}/${state.slice(0, -1)}`,
      target: 'roundup',
      summary: `${state} the roundup “Weekly”`,
      ...(state === 'enabled' && {
        before: ({ app, ids }) => switchRoundup(app.deps, ids.roundup ?? '', false),
      }),
    }),
  ),
  {
    action: 'roundup.deleted',
    path: `${ROUNDUP}/delete`,
    target: 'roundup',
    summary: 'deleted the roundup “Weekly”',
  },
  {
    action: 'hook.created',
    path: 'publishing/hooks',
    fields: { kind: 'netlify', name: 'Build', url: 'https://api.netlify.com/build_hooks/1' },
    target: 'hook',
    summary: 'added the hook “Build” to api.netlify.com',
  },
  {
    action: 'hook.changed',
    path: 'publishing/hooks/:hook/disable',
    target: 'hook',
    summary: 'disabled the hook “Site”',
  },
  {
    action: 'hook.deleted',
    path: 'publishing/hooks/:hook/delete',
    target: 'hook',
    summary: 'deleted the hook “Site” to acme.example',
  },
];

test('every action that the dashboard offers inside an organization is tried', () => {
  const tried = new Set<string>(cases.map(({ action }) => action));
  const elsewhere =
    /^(post\.(imported|appro\w+)|assistant\.asked|organization\.(created|deleted|restored|erased)|integration\.switched|token\.set|member\.joined|image\.deleted)$/;
  const ofAccounts = /^(session|sign_in|user|password|identity|passkey|recovery_codes?)\./;
  const left = auditActions.filter(
    (action) => !tried.has(action) && !elsewhere.test(action) && !ofAccounts.test(action),
  );
  expect(left).toEqual([]);
});

describe('leaves one event, and one log line:', () => {
  test.each(cases.map((each) => [`${each.action} by ${each.path}`, each] as const))(
    '%s',
    async (_, { action, path, fields, target, summary, before }) => {
      const { app, ids, ann, send, events } = world;
      await before?.(world);
      await execute(app.db, 'DELETE FROM audit_events');
      app.logged.length = 0;
      expect((await send(path, fields)).status).toBeLessThan(400);
      const found = await events();
      expect(found).toEqual([
        {
          id: expect.any(Number),
          organizationId: 'org_a',
          action,
          actor: { type: 'user', id: ids.ann ?? '', name: 'ann@acme.example' },
          address: ADDRESS,
          target: { type: target, id: expect.stringMatching(/^\w+$/) },
          summary,
          count: 1,
          createdAt: app.clock.now().toISOString(),
        },
      ]);
      expect(app.logged.filter((line) => 'audit' in line)).toMatchObject([
        { level: 'info', audit: { action, address: ADDRESS }, msg: `ann@acme.example ${summary}` },
      ]);
      const page = await (await ann('/dashboard/org_a/settings/audit')).text();
      expect(page.replaceAll(/<[^>]+>/g, '')).toContain(`ann@acme.example ${summary}`);
    },
  );
});

const refused: [what: string, path: string, fields: Record<string, string>, status: number][] = [
  ['a key without a name', 'settings/keys', { name: ' ' }, 400],
  ['a key that is not there', 'settings/keys/nothing/revoke', {}, 404],
  ['a key that was revoked before', 'settings/keys/:revoked/revoke', {}, 303],
  ['no name for the organization', 'settings', { name: ' ', plan: 'free' }, 400],
  ['settings as they are', 'settings', { name: 'Organization org_a', plan: 'free' }, 303],
  ['the last owner', 'settings/members/:ann/remove', {}, 409],
  ['the role of the last owner', 'settings/members/:ann/role', { role: 'member' }, 409],
  ['the role that a member has', 'settings/members/:bob/role', { role: 'member' }, 303],
  ['a stranger', 'settings/members/nobody/remove', {}, 404],
  ['an invitation to no role', 'settings/members/invitations', { role: 'king' }, 400],
  ['invitations that are not there', 'settings/members/invitations/withdraw', {}, 303],
  ['a repository that cannot be', 'integrations/github', { repository: 'acme' }, 400],
  ['a repository that is there', 'integrations/:integration/add', { repository: 'acme/rocket' }, 400],
  ['the only repository', 'integrations/:integration/remove', { place: 'acme/rocket' }, 400],
  ['an integration that is enabled', 'integrations/:integration/enable', {}, 303],
  ['an integration that is not there', 'integrations/nothing/disconnect', {}, 404],
  [
    'the same trigger again',
    'integrations/:integration/triggers',
    { event: 'release', contentType: 'changelog' },
    409,
  ],
  ['a broken template', TRIGGER, { contentType: 'changelog', bodyTemplate: '{{' }, 400],
  ['a trigger as it is', TRIGGER, { contentType: 'changelog', publish: 'yes' }, 303],
  ['a trigger that is enabled', `${TRIGGER}/enable`, {}, 303],
  ['a post without a title', 'posts/:draft', post('', 'published'), 400],
  ['a post that others changed', 'posts/:draft', { ...post('New', 'published'), seen: 'before' }, 409],
  ['a post with another text only', 'posts/:draft', post('New', 'draft'), 303],
  ['a post that is not there', 'posts/nothing/delete', {}, 404],
];

describe('leaves no event:', () => {
  test.each(refused)('%s', async (_, path, fields, status) => {
    const { app, send, events } = world;
    expect((await send(path, fields)).status).toBe(status);
    expect(await events()).toEqual([]);
    expect(app.logged.filter((line) => 'audit' in line)).toEqual([]);
  });

  test('a member who tries to create a key', async () => {
    const { send, bob, events } = world;
    expect((await send('settings/keys', { name: 'Mine' }, bob)).status).toBe(403);
    expect(await events()).toEqual([]);
  });
});

test('creating another organization leaves an event in that organization', async () => {
  const { ann, ids, events } = world;
  const made = await ann('/dashboard/~/organizations', form({ name: 'Side project' }));
  const organizationId = made.headers.get('location')?.split('/')[2] ?? '';
  expect(await events()).toMatchObject([
    {
      organizationId,
      action: 'organization.created',
      actor: { type: 'user', id: ids.ann },
      target: { type: 'organization', id: organizationId },
      summary: 'created the organization “Side project”',
    },
  ]);
});

test('an owner who removes themselves has left the organization', async () => {
  const { send, events } = world;
  await send('settings/members/:bob/role', { role: 'owner' });
  expect((await send('settings/members/:ann/remove')).status).toBe(303);
  expect((await events())[0]).toMatchObject({ action: 'member.removed', summary: 'left the organization' });
});

test('an import leaves an event with a count; an import without changes leaves none', async () => {
  const { app, events } = world;
  const file = {
    name: 'posts.json',
    text: JSON.stringify(
      Array.from({ length: 1_000 }, (_, n) => ({
        id: `p${n}`,
        title: `T${n}`,
        markdown: 'x',
        status: n < 600 ? 'published' : 'draft',
      })),
    ),
  };
  const options = { organizationId: 'org_a', status: 'draft', contentType: 'changelog' } as const;
  await importFile(app.deps, file, options);
  const imported = {
    action: 'post.imported',
    target: { type: 'organization', id: 'org_a' },
    count: 1_000,
    summary: 'imported 1000 posts (600 published) from “posts.json”',
  } as const;
  // Large imports take many commits, and one that is killed has its event.
  const begun = {
    action: 'post.imported',
    summary: 'began to import 1000 posts from “posts.json”',
    count: 1,
  };
  expect(await events()).toMatchObject([imported, begun]);
  await importFile(app.deps, file, options);
  expect(await events()).toHaveLength(2);
});

test('a post that a trigger publishes, or takes away, is an event of the trigger', async () => {
  const { app, ids, connected, events } = world;
  const release = releaseOf({ name: 'acme/rocket', id: 1 } as Parameters<typeof releaseOf>[0], 'v1.0.0');
  await app.request(...githubRequest(connected, release, { event: 'release' }));
  await runAll(app);
  const [post] = (await allRows(app.db)).posts?.filter(({ title }) => title === 'v1.0.0') ?? [];
  expect(await events()).toMatchObject([
    {
      organizationId: 'org_a',
      action: 'post.published',
      actor: { type: 'trigger', id: ids.trigger, name: 'release' },
      address: null,
      target: { type: 'post', id: post?.id },
      summary: 'published the post “v1.0.0”',
    },
  ]);
  expect(app.logged.find((line) => 'audit' in line)).toMatchObject({
    msg: 'The release trigger published the post “v1.0.0”',
  });
});

test('no secret is in an event or its log line', async () => {
  const { app, send, events } = world;
  const secretIn = async (response: Promise<Response>, pattern: RegExp) =>
    pattern.exec(await (await response).text())?.[0] ?? '';
  const secrets = [
    await secretIn(send('settings/keys', { name: 'Website' }), /tdk_\w{40,}/),
    await secretIn(send('settings/members/invitations', { role: 'owner' }), /(?<=token=)\w{40,}/),
    await secretIn(send('integrations/linear'), /(?<=data-copy=")\w{40,}/),
    await secretIn(send('integrations/:integration/secret'), /(?<=data-copy=")\w{40,}/),
  ];
  await send(TRIGGER, { contentType: 'changelog', bodyTemplate: 'Our own words' });
  expect(secrets.map(({ length }) => length >= 40)).toEqual([true, true, true, true]);
  expect(await events()).toHaveLength(5);
  const written = JSON.stringify([(await allRows(app.db)).audit_events, app.logged]);
  for (const secret of [...secrets, 'Our own words']) expect(written).not.toContain(secret);
  for (const { hash } of (await allRows(app.db)).api_keys ?? []) expect(written).not.toContain(String(hash));
});

describe('keys at Unkey', () => {
  const fields = { organizationId: 'org_a', name: 'Website', permissions: ['api.read'], expiresAt: null };
  const actor = { type: 'user', id: 'usr_1', name: 'ann@acme.example', address: ADDRESS } as const;
  const eventsOf = async (app: TestApp) =>
    (await app.db.read((tx) => listAuditEvents(tx, 'org_a', {}, 10))).filter(({ action }) =>
      action.startsWith('key.'),
    );

  test('leave an event each when they are created, revoked and deleted', async () => {
    using app = await createUnkeyApp();
    const keys = app.deps.keys.as({ actor });
    const { id, key } = await keys.createKey(fields);
    await keys.revokeKey(id);
    await keys.deleteKey(id);
    await expect(keys.deleteKey(id)).rejects.toThrow('not found');
    const found = await eventsOf(app);
    expect(found.map(({ summary }) => summary)).toEqual([
      'deleted the API key “Website”',
      'revoked the API key “Website”',
      'created the API key “Website”',
    ]);
    for (const event of found) {
      expect(event).toMatchObject({ actor: { id: 'usr_1' }, address: ADDRESS, target: { type: 'key', id } });
    }
    expect(JSON.stringify([found, app.logged])).not.toContain(key);
  });

  test('are reported to the person even if the audit event cannot be written; the log has the error', async () => {
    using app = await createUnkeyApp();
    await refuseRows(app.db, 'insert', 'audit_events', 'disk full');
    const { id, key } = await app.deps.keys.createKey(fields);
    expect(key).toStartWith('tdk_');
    expect(app.logged.at(-1)).toMatchObject({
      level: 'error',
      id,
      msg: 'a change to a key is not in the audit log',
    });
  });
});

test('a change is undone when its event cannot be written', async () => {
  const { app, send } = world;
  await refuseRows(app.db, 'insert', 'audit_events', 'disk full');
  const before = await allRows(app.db);
  for (const { path, fields } of cases.filter(({ before: first }) => first === undefined)) {
    expect([path, (await send(path, fields)).status]).toEqual([path, 500]);
  }
  expect(await allRows(app.db)).toEqual(before);
});

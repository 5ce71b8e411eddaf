import { AsyncLocalStorage } from 'node:async_hooks';
import { sql } from 'drizzle-orm';
import type { Storage } from '../../db/engine.ts';
import { seenOf } from '../../src/dashboard/edit.ts';
import type { Page } from '../../src/dashboard/page.ts';
import { createRoundup } from '../../src/drafting/roundups/service.ts';
import { changeTrigger } from '../../src/drafting/triggers/service.ts';
import { connectPolled } from '../../src/intake/polling/connect.ts';
import { connectWithToken } from '../../src/integrations/connect.ts';
import { syncHooks } from '../../src/integrations/rotate.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { insertIdentity } from '../../src/people/oidc/store.ts';
import { changeOrganization } from '../../src/people/organizations.ts';
import { insertPasskey } from '../../src/people/passkeys/store.ts';
import { hashOf } from '../../src/people/passwords.ts';
import { insertSession } from '../../src/people/store.ts';
import { askApproval } from '../../src/posts/approval-requests.ts';
import { addImage } from '../../src/posts/media/service.ts';
import { schedulePost } from '../../src/posts/schedule.ts';
import { deletePost, editPost } from '../../src/posts/service.ts';
import { suggestChange } from '../../src/posts/suggestions.ts';
import type { ProviderApi } from '../../src/providers/api.ts';
import { providerApis, repositoryReaders, samplePayload } from '../../src/providers/index.ts';
import { createHook } from '../../src/readers/hooks/service.ts';
import { form, setPassword, signedIn } from './dashboard.ts';
import { execute, valuesOf } from './database.ts';
import { connectGithub, githubRequest } from './deliveries.ts';
import { createTriggerFor, postsOf, runAll } from './drafts.ts';
import { projectOf } from './github-api/project.ts';
import { startGithubApi } from './github-api/server.ts';
import { LOCAL_HOSTS, startHookReceiver } from './hook-receiver.ts';
import { imageFixture, testMedia } from './media.ts';
import { changed } from './payloads.ts';
import { START } from './polling.ts';
import { hiddenFields } from './provider-app.ts';
import { allRows, type Rows } from './rows.ts';
import { appWithOrganization, type TestApp } from './test-app.ts';

// Every form of the dashboard, filled in such that it does something, in a world that has what it needs.

/** Fields and files of a form that is sent. */
export interface Filled {
  fields?: Record<string, string>;
  /** The field `file`, for an upload. */
  file?: File;
  query?: string;
  /** Ids in the path in place of the usual ones. */
  things?: Record<string, string>;
  /**
   * `reads`: it shows something, or only sets a cookie. `refused`: it needs a world of its own to succeed. `parts`: it does
   * several things, of which each stands by itself. `sends`: the receiver writes what it sends. Default: it writes all or
   * nothing.
   */
  does?: 'reads' | 'refused' | 'parts' | 'sends';
}

export type EveryForm = Awaited<ReturnType<typeof createEveryForm>>;

const EDITED = { title: 'Edited', markdown: 'Edited *text*', contentType: 'changelog' };

/** By the page's path below the organization, in an order in which none takes away what another one needs. */
const forms: Readonly<Record<string, (has: Record<string, string>) => Filled>> = {
  '/dashboard/~/organizations': () => ({ fields: { name: 'Another' } }),
  '/dashboard/~/account/appearance': () => ({ fields: { theme: 'dark', density: 'dense' }, does: 'reads' }),
  '/attention/mute': () => ({ fields: { id: 'deliveries_rejected:any', days: '1' } }),
  '/posts/~/selected': ({ selectedId = '' }) => ({ fields: { selected: selectedId, action: 'publish' } }),
  '/posts/~/import': () => ({
    fields: {
      text: '# A title\n\nText',
      status: 'draft',
      contentType: 'changelog',
      format: 'markdown',
      confirmed: 'yes',
    },
    file: new File([''], ''),
  }),
  '/posts/~/new': () => ({ fields: EDITED }),
  '/posts/~/preview': () => ({ fields: EDITED, does: 'reads' }),
  '/posts/:postId/schedule': () => ({ fields: { publishAt: '2030-01-01T09:00', timeZone: 'UTC' } }),
  '/posts/:postId/schedule/cancel': () => ({}),
  '/posts/:postId/date': () => ({ fields: { createdAt: '2025-01-01T09:00', timeZone: 'UTC' } }),
  '/posts/:postId/date/reset': () => ({}),
  '/posts/:postId/duplicate': () => ({}),
  '/posts/~/autosave': () => ({ fields: { ...EDITED, seen: '', mark: 'autosaved' }, does: 'parts' }),
  '/posts/:postId/autosave': ({ seen = '' }) => ({
    fields: { ...EDITED, title: 'Autosaved', seen, mark: '' },
  }),
  '/posts/:postId/versions/:versionId/restore': () => ({}),
  '/posts/:postId/wording': ({ draftId = '' }) => ({ things: { postId: draftId } }),
  '/posts/:postId/suggestions/:suggestionId': () => ({ fields: { choice: 'dismiss' } }),
  '/posts/:postId/approval': ({ askedHash = '' }) => ({
    fields: { seen: askedHash },
    things: { postId: 'asked' },
  }),
  '/posts/:postId/approval/decline': ({ doubtedHash = '' }) => ({
    fields: { seen: doubtedHash, note: 'Too long' },
    things: { postId: 'doubted' },
  }),
  '/posts/:postId/approval/withdraw': () => ({ things: { postId: 'recalled' } }),
  '/posts/:postId/suggestion': ({ draftId = '', draftSeen = '', suggestedAt = '' }) => ({
    fields: { choice: 'take', seen: draftSeen, suggestedAt },
    things: { postId: draftId },
  }),
  '/posts/:postId': () => ({ fields: { ...EDITED, title: 'Saved' } }),
  '/posts/:postId/delete': () => ({}),
  '/posts/~/trash/restore': ({ deletedId = '' }) => ({ fields: { selected: deletedId } }),
  '/posts/~/trash/erase': ({ erasedId = '' }) => ({ fields: { id: erasedId } }),
  '/posts/~/trash/empty': () => ({ does: 'parts' }),
  '/media': () => ({ file: new File([imageFixture('photo.webp')], 'b.webp') }),
  '/media/:mediaId': () => ({ fields: { alt: 'Described' } }),
  '/media/:mediaId/delete': () => ({}),
  '/deliveries/replay': ({ deliveryId = '' }) => ({
    fields: { selection: 'yes', selected: deliveryId },
    does: 'parts',
  }),
  '/deliveries/:deliveryId/replay': () => ({}),
  '/deliveries/:deliveryId/trigger': () => ({ does: 'parts' }),
  '/posts/~/compare': () => ({
    fields: { repository: 'acme/past', range: 'main..next', mark: 'compare' },
    does: 'parts',
  }),
  '/import': () => ({ fields: { repository: 'acme/past', span: 'newest20', mark: 'import' }, does: 'parts' }),
  '/import/:historyId/publish': () => ({ does: 'parts' }),
  '/import/:historyId/stop': () => ({}),
  '/triggers/roundups': ({ integrationId = '' }) => ({
    fields: { name: 'Other', time: '09:00', timeZone: 'UTC', sources: integrationId },
  }),
  '/triggers/roundups/:roundupId': ({ integrationId = '' }) => ({
    fields: { name: 'Renamed', time: '10:00', timeZone: 'UTC', sources: integrationId, whenEmpty: 'line' },
  }),
  '/triggers/roundups/:roundupId/now': () => ({}),
  '/triggers/roundups/:roundupId/disable': () => ({}),
  '/triggers/roundups/:roundupId/enable': () => ({}),
  '/triggers/roundups/:roundupId/delete': () => ({}),
  '/integrations/:integrationId/triggers': () => ({ fields: { event: 'push' } }),
  '/integrations/:integrationId/triggers/preview': () => ({ fields: { event: 'push' }, does: 'reads' }),
  '/integrations/:integrationId/triggers/:triggerId/preview': () => ({ does: 'reads' }),
  '/integrations/:integrationId/triggers/:triggerId/retry': () => ({}),
  '/integrations/:integrationId/triggers/:triggerId/versions/:versionId/restore': ({ templatesId = '' }) => ({
    things: { versionId: templatesId },
  }),
  '/integrations/:integrationId/triggers/:triggerId': () => ({ fields: { event: 'release', tag: 'v2.*' } }),
  '/integrations/:integrationId/triggers/:triggerId/disable': () => ({}),
  '/integrations/:integrationId/triggers/:triggerId/enable': () => ({}),
  '/integrations/:integrationId/triggers/:triggerId/delete': () => ({}),
  '/integrations/:integrationId/disable': () => ({ fields: { mark: 'disable' } }),
  '/integrations/:integrationId/enable': () => ({ fields: { mark: 'enable' } }),
  '/integrations/:integrationId/test': () => ({ fields: { event: 'release', mark: 'test' }, does: 'sends' }),
  '/integrations/:integrationId/add': () => ({ fields: { repository: 'acme/more', mark: 'add' } }),
  '/integrations/:integrationId/remove': () => ({ fields: { place: 'acme/more', mark: 'remove' } }),
  '/integrations/:integrationId/secret': () => ({ fields: { mark: 'secret' } }),
  '/integrations/:integrationId/refresh': () => ({ fields: { mark: 'refresh' }, does: 'refused' }),
  '/integrations/:integrationId/key': () => ({ fields: { key: 'x', mark: 'key' }, does: 'refused' }),
  '/integrations/:integrationId/token': ({ token = '' }) => ({ fields: { apiToken: token, mark: 'token' } }),
  '/integrations/:integrationId/repair': ({ managedId = '' }) => ({
    fields: { mark: 'repair' },
    things: { integrationId: managedId },
  }),
  '/integrations/:integrationId/missed': ({ managedId = '' }) => ({
    fields: { which: 'all', mark: 'missed' },
    things: { integrationId: managedId },
    does: 'parts',
  }),
  '/integrations/:integrationId/poll': ({ polledId = '' }) => ({
    fields: { mark: 'poll' },
    things: { integrationId: polledId },
    does: 'parts',
  }),
  '/integrations/:integrationId/webhook-by-hand': ({ polledId = '' }) => ({
    fields: { mark: 'by hand' },
    things: { integrationId: polledId },
  }),
  '/integrations/:integrationId/webhook': ({ polledId = '', token = '' }) => ({
    fields: { apiToken: token, mark: 'webhook' },
    things: { integrationId: polledId },
  }),
  '/integrations/:integrationId/polling': ({ managedId = '' }) => ({
    fields: { mark: 'polling' },
    things: { integrationId: managedId },
  }),
  '/integrations/:integrationId/disconnect': () => ({ fields: { mark: 'disconnect' } }),
  '/integrations/github/choose': ({ token = '' }) => ({ fields: { apiToken: token }, does: 'reads' }),
  '/integrations/github/connect': ({ offer = '' }) => ({
    fields: { offer, place: 'acme/engine', mark: 'connect' },
  }),
  '/integrations/github/poll': () => ({ fields: { polled: 'acme/public', mark: 'connect by polling' } }),
  ...Object.fromEntries(
    ['github', 'gitlab', 'forgejo', 'linear'].map((type) => [
      `/integrations/${type}`,
      () => ({ fields: { repository: 'acme/byhand', mark: type } }),
    ]),
  ),
  // The handlers are those of GitHub.
  ...Object.fromEntries(
    ['gitlab', 'forgejo', 'linear'].flatMap((type) => [
      [`/integrations/${type}/choose`, () => ({ fields: { apiToken: 'token' }, does: 'refused' as const })],
      [
        `/integrations/${type}/connect`,
        () => ({ fields: { mark: `connect ${type}` }, does: 'refused' as const }),
      ],
      ...(type === 'linear'
        ? []
        : [
            [
              `/integrations/${type}/poll`,
              () => ({ fields: { mark: `poll ${type}` }, does: 'refused' as const }),
            ],
          ]),
    ]),
  ),
  '/publishing/agents': () => ({ fields: { isMcpOn: 'yes' } }),
  '/publishing': () => ({ fields: { slug: 'acme', title: 'News', accentColor: '#112233', isPageOn: 'yes' } }),
  '/publishing/logo': () => ({ file: new File([imageFixture('photo.jpg')], 'logo.jpg'), does: 'parts' }),
  '/publishing/hooks': () => ({
    fields: { kind: 'signed', name: 'Other', url: 'https://hooks.test/x', mark: 'hook' },
  }),
  '/publishing/hooks/:hookId/test': () => ({ does: 'reads' }),
  '/publishing/hooks/:hookId/messages/:messageId/resend': () => ({}),
  '/publishing/hooks/:hookId/resend': () => ({}),
  '/publishing/hooks/:hookId/disable': () => ({}),
  '/publishing/hooks/:hookId/enable': () => ({}),
  '/publishing/hooks/:hookId/rotate': () => ({ fields: { mark: 'rotate' } }),
  '/publishing/hooks/:hookId/delete': () => ({}),
  '/settings': () => ({ fields: { name: 'Renamed', plan: 'pro' } }),
  '/settings/assistant': () => ({
    fields: { voice: 'Dry', examples: '', dailyRequests: '5', dailyBytes: '9000' },
  }),
  '/settings/keys': () => ({ fields: { name: 'Stolen', access: 'read', expiry: '', mark: 'new key' } }),
  '/settings/keys/:keyId/revoke': () => ({}),
  '/settings/keys/:keyId/delete': () => ({}),
  '/settings/members/invitations': () => ({ fields: { role: 'owner', mark: 'invite' } }),
  '/settings/members/invitations/withdraw': () => ({}),
  '/settings/members/:userId/password-link': () => ({ fields: { mark: 'link' } }),
  '/settings/members/:userId/role': () => ({ fields: { role: 'owner' } }),
  '/settings/members/:userId/remove': () => ({}),
  '/settings/second-factor/enable': () => ({}),
  '/settings/second-factor/disable': () => ({}),
  '/settings/delete': () => ({ fields: { confirm: 'Renamed' } }),
  '/dashboard/~/organizations/restore': ({ organizationId = '' }) => ({ fields: { id: organizationId } }),
  '/dashboard/~/passkeys/confirm': () => ({ does: 'refused' }),
  '/dashboard/~/account/passkeys': () => ({ does: 'refused' }),
  '/dashboard/~/account/passkeys/codes': () => ({ fields: { mark: 'codes' } }),
  '/dashboard/~/account/passkeys/remove': () => ({ fields: { id: 'passkey' } }),
  '/dashboard/~/oidc/confirm/link': () => ({ does: 'refused' }),
  '/dashboard/~/account/identities/unlink': () => ({
    fields: { issuer: 'https://sso.test', subject: 'ann' },
  }),
  '/dashboard/~/account/sessions/end': ({ otherSession = '' }) => ({ fields: { session: otherSession } }),
  '/dashboard/~/account/password': () => ({
    fields: { current: 'correct horse battery', password: 'quiet orange ladder wind' },
  }),
  '/dashboard/~/account/sign-out-everywhere': () => ({}),
};

const IN_ORGANIZATION = '/dashboard/:organizationId';

/** The keys of `forms`. */
export const formPaths = Object.keys(forms).map((path) =>
  path.startsWith('/dashboard/') ? path : IN_ORGANIZATION + path,
);

async function idOf(app: TestApp, query: string): Promise<string> {
  const [[id] = []] = await valuesOf(app.db, query);
  if (typeof id !== 'string') throw new Error(`nothing is found by ${query}`);
  return id;
}

export async function createEveryForm() {
  /** True in a visit, unlike deliveries of the provider. */
  const visiting = new AsyncLocalStorage<boolean>();
  let steps = 0;
  let interruption: { at: number; work: () => Promise<void> } | null = null;
  let interrupted: 'write' | 'call' | null = null;

  /** Counts a write, or a call to the provider, and runs the interruption at its turn. */
  async function step(kind: 'write' | 'call'): Promise<void> {
    if (visiting.getStore() !== true || interruption === null || ++steps !== interruption.at) return;
    interrupted = kind;
    await visiting.run(false, interruption.work);
  }

  /** The interruption comes while the provider answers. */
  const interruptible = (api: ProviderApi): ProviderApi =>
    new Proxy(api, {
      get(target, name) {
        const value = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return async (...given: unknown[]) => {
          const answer = await Reflect.apply(value, target, given);
          await step('call');
          return answer;
        };
      },
    });

  const media = testMedia();
  const receiver = startHookReceiver();
  const app: TestApp = await appWithOrganization({
    media: media.place,
    hookPrivateHosts: LOCAL_HOSTS,
    assistant: { url: 'https://ai.test/v1', model: 'small' },
    openProviderApi: async (type, token) =>
      interruptible(await providerApis({ github: github.url })(type, token)),
    openReader: (type, token) => repositoryReaders({ github: github.url })(type, token),
    publicUrl: () => `http://127.0.0.1:${server.port}`,
  });
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => app.fetch(request) });
  const github = startGithubApi({ clock: app.clock });
  const write = app.db.write.bind(app.db);
  app.db.write = (async (...given: Parameters<Storage['write']>) => {
    await step('write');
    return write(...given);
  }) as Storage['write'];

  const about = { isPrivate: false, rights: { ann: 'admin' } } as const;
  const [rocket, , polled, publicOne, past] = [
    'rocket',
    'engine',
    'polled',
    'public',
    'past',
    'lander',
    'more',
  ].map((name) => github.addRepository(`acme/${name}`, about));
  for (const repository of [rocket, polled, publicOne, past]) {
    if (repository === undefined) continue;
    const project = projectOf(repository, app.clock, START);
    if (repository === past) project.happen({ push: ['feat: quiet mode'], branch: 'next' });
  }
  const token = github.addToken({
    user: 'ann',
    permissions: { contents: 'read', pull_requests: 'read', repository_hooks: 'write' },
  });

  const managed = await connectWithToken(app.deps, {
    type: 'github',
    organizationId: 'org_a',
    token,
    places: ['acme/rocket'],
  });
  await github.settled();
  const polling = await connectPolled(app.deps, {
    type: 'github',
    organizationId: 'org_a',
    repositories: ['acme/polled'],
  });
  const connected = await connectGithub(app, 'org_a', 'acme/lander');
  const { integrationId } = connected;

  // A post of a trigger, which a person edited before its event changed.
  const trigger = await createTriggerFor(app, connected, 'release');
  await changeTrigger(app.deps, trigger.id, { titleTemplate: 'News' });
  async function deliver(changes: Record<string, unknown>): Promise<void> {
    const sample = samplePayload('github', 'release', { repository: 'acme/lander', now: app.clock.now() });
    const [, init] = githubRequest(connected, changed(sample ?? {}, changes), { event: 'release' });
    await fetch(connected.webhookUrl, init);
    await runAll(app);
  }
  await deliver({});
  const draftId = (await postsOf(app))[0]?.id ?? '';
  await editPost(app.deps, draftId, { markdown: 'My words' });
  await deliver({
    action: 'edited',
    'release.body': 'Newer words',
    'release.updated_at': '2026-11-20T12:30:00Z',
  });
  const draft = (await postsOf(app)).find(({ id }) => id === draftId);
  const suggestedAt = await idOf(app, `select suggested_at from drafts where post_id = '${draftId}'`);
  await execute(
    app.db,
    sql`insert into trigger_runs (trigger_id, scope, since, revision, status, attempts, due_at, delivery_id, queued_at)
      values (${trigger.id}, 'none', ${suggestedAt}, 1, 'failed', 5, 0, 'none', ${suggestedAt})`,
  );

  const roundup = await createRoundup(app.deps, 'org_a', {
    ...{ name: 'Weekly', cadence: 'weekly', weekday: 1, time: '09:00', timeZone: 'UTC' },
    ...{ groupBy: 'kind', whenEmpty: 'line', contentType: 'changelog' },
    sources: [{ integrationId, repositoryId: null, team: null }],
  });
  const hook = await createHook(app.deps, {
    organizationId: 'org_a',
    name: 'Site',
    kind: 'signed',
    url: receiver.at('/'),
  });
  const ids = ['edited', 'selected', 'deleted', 'erased', 'emptied', 'seen'];
  await app.addPosts('org_a', ...ids.map((id) => ({ id, status: 'draft' as const })));
  await app.addPosts(
    'org_a',
    { id: 'published', status: 'published' },
    { id: 'public', status: 'published' },
  );
  const { updatedAt, ...text } = await editPost(app.deps, 'edited', { markdown: 'Before' });
  const { title, markdown, contentType } = text;
  const seen = seenOf({ title, markdown, contentType });
  await schedulePost(app.deps, 'selected', { publishAt: '2030-01-01T09:00', timeZone: 'UTC' });
  for (const id of ['deleted', 'erased', 'emptied']) await deletePost(app.deps, id);
  await execute(app.db, "update hook_messages set state = 'failed'");
  await execute(
    app.db,
    `insert into attention (id, organization_id, kind, subject, since, count, message, effect, action)
     values ('deliveries_rejected:any', 'org_a', 'deliveries_rejected', 'any', '', 1, '', '', '')`,
  );
  const { id: keyId } = await app.addKey('org_a');
  await suggestChange(app.deps, 'org_a', { keyId, name: 'Agent' }, { id: 'edited', title: 'Suggested' });
  const image = await addImage(app.deps, {
    organizationId: 'org_a',
    name: 'a.png',
    bytes: imageFixture('photo.png'),
  });
  const { repositoryId = '' } = connected;
  await execute(
    app.db,
    sql`insert into histories (id, integration_id, repository_id, trigger_id, publish, status, found, "read", due_at, attempts, created_at)
      values ('his_1', ${integrationId}, ${repositoryId}, ${trigger.id}, 0, 'queued', 0, 0, 0, 0, ${updatedAt})`,
  );
  const other = await signedIn(app, { organizationId: 'org_a', role: 'member' });
  await app.addPosts(
    'org_a',
    ...['asked', 'doubted', 'recalled'].map((id) => ({ id, status: 'draft' as const })),
  );
  async function ask(user: { id: string; email: string }, ...ids: string[]) {
    const actor = { type: 'user', id: user.id, name: user.email, address: null } as const;
    await changeOrganization(app.deps, 'org_a', { needsApproval: true });
    for (const id of ids) await askApproval({ ...app.deps, actor }, id);
    await changeOrganization(app.deps, 'org_a', { needsApproval: false });
  }
  await ask(other.user, 'asked', 'doubted');

  const has: Record<string, string> = {
    organizationId: 'org_a',
    postId: 'edited',
    ...{
      selectedId: 'selected',
      deletedId: 'deleted',
      erasedId: 'erased',
      draftId,
      draftSeen: draft?.updatedAt ?? '',
      suggestedAt,
    },
    ...{ keyId, integrationId, managedId: managed.integrationId, polledId: polling.integrationId, token },
    ...{
      hookId: hook.id,
      roundupId: roundup.id,
      triggerId: trigger.id,
      historyId: 'his_1',
      mediaId: image.id,
      userId: other.user.id,
    },
    askedHash: await idOf(app, "select hash from post_approvals where post_id = 'asked'"),
    doubtedHash: await idOf(app, "select hash from post_approvals where post_id = 'doubted'"),
    messageId: await idOf(app, 'select id from hook_messages order by id limit 1'),
    suggestionId: await idOf(app, 'select id from post_suggestions'),
    deliveryId: await idOf(
      app,
      `select id from deliveries where integration_id = '${integrationId}' limit 1`,
    ),
    versionId: await idOf(
      app,
      "select id from post_versions where post_id = 'edited' order by created_at, id limit 1",
    ),
    seen,
    templatesId: await idOf(
      app,
      `select id from post_versions where post_id = '${trigger.id}' order by created_at, id limit 1`,
    ),
  };

  /** A form as a browser sends it. */
  function filled(page: Page): Filled & { path: string; body: URLSearchParams | FormData } {
    const given = forms[page.path.replace(IN_ORGANIZATION, '')]?.(has);
    if (given === undefined) throw new Error(`every-form.ts does not know how to fill in ${page.path}`);
    const { fields = {}, file, query = '', things = {} } = given;
    const values = { ...has, ...things };
    const path = page.path.replaceAll(/:(\w+)/g, (_, name: string) => values[name] ?? 'thing') + query;
    if (page.isUpload !== true) return { ...given, path, body: new URLSearchParams(fields) };
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) body.set(name, value);
    if (file !== undefined) body.set('file', file);
    return { ...given, path, body };
  }

  return {
    app,
    server,
    github,
    receiver,
    has,
    connected,
    filled,
    /** An owner with a password, another session, and the form that connects a repository. */
    async addOwner() {
      const owner = await signedIn(app, { organizationId: 'org_a' });
      await setPassword(app, owner.user);
      await ask(owner.user, 'recalled');
      const now = app.clock.now();
      const times = {
        createdAt: now.toISOString(),
        lastUsedAt: now.getTime(),
        expiresAt: now.getTime() + DAY_MS,
      };
      const hash = hashOf(`${owner.user.id} elsewhere`);
      has.otherSession = hash;
      const identity = {
        issuer: 'https://sso.test',
        subject: 'ann',
        name: 'ann',
        createdAt: times.createdAt,
      };
      await app.db.write(async (tx) => {
        await insertSession(tx, { hash, userId: owner.user.id, ...times });
        await insertIdentity(tx, { ...identity, userId: owner.user.id });
        const passkey = { id: 'passkey', userId: owner.user.id, name: 'Laptop', publicKey: Buffer.of(1) };
        const { createdAt } = times;
        await insertPasskey(tx, { ...passkey, counter: 0, transports: '', createdAt, lastUsedAt: null });
        await tx.run(
          sql`update sessions set confirmed_at = ${now.getTime()} where user_id = ${owner.user.id}`,
        );
      });
      const choose = await owner('/dashboard/org_a/integrations/github/choose', form({ apiToken: token }));
      const connect = hiddenFields(await choose.text(), '/dashboard/org_a/integrations/github/connect');
      has.offer = Object.fromEntries(connect).offer ?? '';
      return owner;
    },
    /** Sends a form, and runs `work` right before its write, or during its call to the provider, of this number. */
    async interruptAt(at: number, work: () => Promise<void>, send: () => Promise<Response>) {
      steps = 0;
      interrupted = null;
      interruption = { at, work };
      const response = await visiting.run(true, send);
      interruption = null;
      return { response, interrupted: interrupted as 'write' | 'call' | null };
    },
    /**
     * Every row but counters of attempts and the engine's own, and the files of images. `atProvider`: also the hooks at
     * GitHub, once the job has set those again that are gone; but nothing that GitHub delivers or names by itself.
     */
    async state(atProvider: boolean): Promise<Rows> {
      if (atProvider) await syncHooks(app.deps);
      await github.settled();
      const rows = await allRows(app.db);
      for (const table of ['throttles', 'sqlite_sequence', ...(atProvider ? DELIVERED : [])])
        delete rows[table];
      if (atProvider) {
        for (const row of [...(rows.repositories ?? []), ...(rows.hooks ?? [])]) {
          delete row.provider_id;
          delete row.remote_id;
        }
        rows.hooks_at_github = github.repositories.flatMap(({ name, hooks }) =>
          hooks.map(({ config, events, isActive }) => ({ name, ...config, events, isActive })),
        );
      }
      rows.files = (await media.place.files.list()).map(({ name }) => ({ name }));
      // Rows have no order: one that is put back comes last.
      const inOrder = (all: Rows[string]) =>
        all.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
      return Object.fromEntries(Object.entries(rows).map(([table, all]) => [table, inOrder(all)]));
    },
    async [Symbol.asyncDispose]() {
      await github.settled();
      await server.stop(true);
      for (const each of [github, receiver, media]) each[Symbol.dispose]();
      await app.db.close();
    },
  };
}

const DELIVERED = ['deliveries', 'delivery_counts', 'delivery_claims'];

import { describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { wordings } from '../../db/schema/triggers.ts';
import { getTrigger } from '../../src/drafting/triggers/model.ts';
import { queueWording, readAssistant } from '../../src/drafting/wording/store.ts';
import { leaderJobs } from '../../src/server/work.ts';
import { form, signedIn } from '../support/dashboard.ts';
import { appWithGithub } from '../support/deliveries.ts';
import { compose, createTriggerFor, deliverSample, postsOf, runAll } from '../support/drafts.ts';

const assistant = { url: 'https://ai.test/v1', model: 'small', key: 'sk-secret' };

async function world(given: { assistant?: typeof assistant }) {
  const { app, connected } = await appWithGithub(given);
  const trigger = await createTriggerFor(app, connected, 'push');
  await deliverSample(app, connected, 'push');
  await runAll(app);
  const [post] = await postsOf(app);
  const owner = await signedIn(app, { organizationId: 'org_a' });
  const member = await signedIn(app, { organizationId: 'org_a', role: 'member' });
  const text = async (path: string, visit = owner) => (await visit(`/dashboard/org_a/${path}`)).text();
  const triggerPath = `integrations/${connected.integrationId}/triggers/${trigger.id}`;
  return { app, trigger, triggerPath, owner, member, text, path: `posts/${post?.id}` };
}

describe('without AI_URL', () => {
  test('there is no button, no page, no tab, no switch, and no job', async () => {
    const { app, owner, text, path, triggerPath } = await world({});
    expect(await text(path)).not.toContain('Suggest wording');
    expect(await text('settings')).not.toContain('settings/assistant');
    expect(await text(triggerPath)).not.toContain('Suggest wording');
    for (const each of [`${path}/wording`, 'settings/assistant'])
      expect((await owner(`/dashboard/org_a/${each}`)).status).toBe(404);
    expect((await owner(`/dashboard/org_a/${path}/wording`, form({}))).status).toBe(404);
    const jobs = (given: object) => leaderJobs({ ...app.deps, ...given }, compose).map(({ name }) => name);
    expect(jobs({})).not.toContain('word-drafts');
    expect(jobs({ assistant })).toContain('word-drafts');
  });
});

describe('with an assistant', () => {
  test('a draft of events shows all that leaves, and nothing of the key', async () => {
    const { member, text, path } = await world({ assistant });
    expect(await text(path, member)).toContain('Suggest wording');
    const page = await text(`${path}/wording`, member);
    expect(page).toContain('https://ai.test/v1/chat/completions');
    expect(page).toContain('You reword one entry of a changelog');
    expect(page).toMatch(/sends \d requests?/);
    expect(page).not.toContain('sk-secret');
    const sent = await member(`/dashboard/org_a/${path}/wording`, form({}));
    expect(sent.status).toBe(303);
    expect(await text(path, member)).toContain('The assistant was asked');
  });

  test('an entry that failed keeps its words, and the draft says why', async () => {
    const { app, text, path } = await world({ assistant });
    const postId = path.slice('posts/'.length);
    const line = '- Raise the limit to 5 MB';
    await app.db.write(async (tx) => {
      await queueWording(tx, app.deps, { postId, organizationId: 'org_a', actorName: 'ann@acme.example' });
      const lines = [{ line, to: null, why: 'its sources lack “6”' }];
      await tx.update(wordings).set({ status: 'done', lines }).where(eq(wordings.postId, postId)).run();
    });
    const page = await text(path);
    expect(page).toContain('1 entry kept as they are');
    expect(page).toContain('(its sources lack “6”)');
  });

  test('a draft that a person wrote has no button', async () => {
    const { app, text } = await world({ assistant });
    await app.addPosts('org_a', { id: 'own', status: 'draft' });
    expect(await text('posts/own')).not.toContain('Suggest wording');
  });

  test('only owners change what it may have', async () => {
    const { app, owner, member, text } = await world({ assistant });
    const fields = {
      voice: 'Dry',
      examples: 'One\nTwo',
      includesPrivate: 'on',
      dailyRequests: '7',
      dailyBytes: '9000',
    };
    const path = '/dashboard/org_a/settings/assistant';
    expect((await member(path, form(fields))).status).toBe(403);
    expect((await owner(path, form(fields))).status).toBe(303);
    expect(await app.db.read((tx) => readAssistant(tx, 'org_a'))).toMatchObject({
      ...{ voice: 'Dry', examples: 'One\nTwo', includesPrivate: true, dailyRequests: 7, dailyBytes: 9_000 },
    });
    expect(await text('settings/assistant', member)).toContain('Only owners can change these settings.');
    for (const wrong of [{ examples: '1\n2\n3\n4' }, { dailyRequests: 'many' }, { voice: 'x'.repeat(2_001) }])
      expect((await owner(path, form({ ...fields, ...wrong }))).status).toBe(400);
  });

  test('the form of a trigger has a switch, which stays when there is no assistant', async () => {
    const { app, owner, text, trigger, triggerPath } = await world({ assistant });
    expect(await text(triggerPath)).toContain('Suggest wording for its drafts');
    await owner(`/dashboard/org_a/${triggerPath}`, form({ event: 'push', suggests: 'on' }));
    expect((await app.db.read((tx) => getTrigger(tx, trigger.id))).suggests).toBe(true);
    await owner(`/dashboard/org_a/${triggerPath}`, form({ event: 'push' }));
    expect((await app.db.read((tx) => getTrigger(tx, trigger.id))).suggests).toBe(false);
  });
});

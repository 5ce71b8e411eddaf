import { beforeEach, describe, expect, test } from 'bun:test';
import { createTrigger, type NewTrigger } from '../../src/drafting/triggers/service.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { editPost } from '../../src/posts/service.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { connectLinear, linearRequest } from '../support/deliveries.ts';
import { postsOf, runAll, toldBy } from '../support/drafts.ts';
import { changed, type Payload } from '../support/payloads.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

let app: TestApp;
let connected: Connected;

beforeEach(async () => {
  app = await appWithOrganization();
  connected = await connectLinear(app, 'org_a');
});

function trigger(given: Partial<NewTrigger> = {}) {
  const { integrationId } = connected;
  return createTrigger(app.deps, { integrationId, event: 'issue', contentType: 'changelog', ...given });
}

function sample(event: string, changes: Record<string, unknown> = {}): Payload {
  return changed(samplePayload('linear', event, { now: app.clock.now() }) ?? {}, changes);
}

/** An issue of the sample's team, completed at a minute of the last hour. */
function issue(number: number, title: string, changes: Record<string, unknown> = {}): Payload {
  const time = `2026-11-20T11:${String(number).padStart(2, '0')}:00.000Z`;
  const data = {
    id: `issue-${number}`,
    identifier: `ENG-${number}`,
    title,
    completedAt: time,
    updatedAt: time,
  };
  const fields = Object.fromEntries(Object.entries(data).map(([name, value]) => [`data.${name}`, value]));
  return sample('Issue', { ...fields, ...changes });
}

async function deliver(event: string, ...payloads: Payload[]): Promise<void> {
  for (const payload of payloads) {
    expect((await app.request(...linearRequest(connected, payload, { event }))).status).toBe(200);
  }
  await runAll(app);
}

const drafts = () => toldBy(app);

const reopened = (number: number, title: string) =>
  issue(number, title, {
    'data.state.type': 'started',
    'data.completedAt': null,
    'data.updatedAt': '2026-11-20T11:59:00.000Z',
  });

describe('completed issues', () => {
  test('with a label to skip are in no draft', async () => {
    await trigger();
    await trigger({ contentType: 'linkedin_post', filters: { excludeLabel: ['internal'] } });
    const labeled = (name: string) => ({ 'data.labels': [{ id: 'label-1', name }] });
    await deliver(
      'Issue',
      issue(1, 'Tidy up', labeled('skip-changelog')),
      issue(2, 'Quiet mode', labeled('internal')),
    );
    const posts = await postsOf(app);
    expect(
      posts.map(({ contentType, content }) => [contentType, /Tidy up|Quiet mode/.exec(content)?.[0]]),
    ).toEqual(
      expect.arrayContaining([
        ['changelog', 'Quiet mode'],
        ['linkedin_post', 'Tidy up'],
      ]),
    );
    expect(posts).toHaveLength(2);
  });

  test('collect in a draft of their team, in order of completion', async () => {
    await trigger();
    await deliver('Issue', issue(2, 'Second'), issue(1, 'First'));
    expect(await drafts()).toEqual({ 'Done by Engineering': ['First', 'Second'] });
  });

  test('collect in a draft for each team, filtered by team, label and project', async () => {
    await trigger();
    const other = { 'data.team': { id: 'team-2', key: 'OPS', name: 'Operations' } };
    await deliver('Issue', issue(1, 'First'), issue(2, 'Second', other));
    expect(await drafts()).toEqual({ 'Done by Engineering': ['First'], 'Done by Operations': ['Second'] });
    await trigger({ filters: { team: ['ops'] }, contentType: 'linkedin_post' });
    await trigger({ filters: { label: ['No such label'] } });
    await deliver('Issue', issue(3, 'Third', other), issue(4, 'Fourth'));
    expect((await postsOf(app)).filter(({ contentType }) => contentType === 'linkedin_post')).toHaveLength(1);
    expect(await postsOf(app)).toHaveLength(3);
  });

  test('collect by project when the trigger filters by project', async () => {
    await trigger({ filters: { project: ['Quieter engines'] } });
    await deliver('Issue', issue(1, 'First'), issue(2, 'Second', { 'data.project': null }));
    expect(await drafts()).toEqual({ 'Done in Quieter engines': ['First'] });
  });

  test('change the draft when they are reopened, renamed or removed; the last one removes it', async () => {
    await trigger();
    await deliver('Issue', issue(1, 'First'), issue(2, 'Second'));
    const renamed = { 'data.updatedAt': '2026-11-20T11:58:00.000Z', updatedFrom: { title: 'First' } };
    await deliver('Issue', issue(1, 'First, renamed', renamed), reopened(2, 'Second'));
    expect(await drafts()).toEqual({ 'Done by Engineering': ['First, renamed'] });
    await deliver(
      'Issue',
      issue(1, 'First', { action: 'remove', 'data.updatedAt': '2026-11-20T11:59:00.000Z' }),
    );
    expect(await drafts()).toEqual({});
  });

  test('give the same draft when their newest version came first', async () => {
    await trigger();
    await deliver('Issue', reopened(1, 'First'), issue(2, 'Second'), issue(1, 'First'));
    expect(await drafts()).toEqual({ 'Done by Engineering': ['Second'] });
  });

  test('that were published never appear again', async () => {
    await trigger();
    await deliver('Issue', issue(1, 'First'));
    const [post] = await postsOf(app);
    await editPost(app.deps, post?.id ?? '', { status: 'published' });
    await deliver('Issue', reopened(1, 'First'));
    const again = {
      'data.updatedAt': '2026-11-20T12:30:00.000Z',
      'data.completedAt': '2026-11-20T12:30:00.000Z',
    };
    await deliver('Issue', issue(1, 'First', again), issue(2, 'Second'));
    expect((await postsOf(app)).map(({ status, content }) => [status, content])).toEqual(
      expect.arrayContaining([
        ['published', post?.content],
        ['draft', expect.stringContaining('Second')],
      ]),
    );
    expect((await postsOf(app)).find(({ status }) => status === 'draft')?.content).not.toContain('First');
  });

  test('that were never completed queue no run', async () => {
    await trigger();
    await app.request(...linearRequest(connected, reopened(1, 'First')));
    expect(await runAll(app)).toBe(0);
  });
});

test('an issue that was completed before its trigger was created makes no post when it is edited', async () => {
  await deliver('Issue', issue(1, 'First'));
  await deliver('Project', sample('Project'));
  await trigger();
  await trigger({ event: 'project', publish: true });
  const renamed = (changes: Record<string, unknown>) => ({
    ...changes,
    'data.updatedAt': '2026-11-20T12:30:00.000Z',
    updatedFrom: { title: 'Before' },
  });
  await deliver('Issue', issue(1, 'First, renamed', renamed({})));
  await deliver('Project', sample('Project', renamed({ 'data.name': 'Renamed' })));
  expect(await postsOf(app)).toEqual([]);
  await deliver('Issue', issue(2, 'Second'));
  await deliver('Project', sample('Project'));
  expect(await drafts()).toMatchObject({ 'Done by Engineering': ['Second'] });
  expect((await postsOf(app)).map(({ title, status }) => [title, status])).toContainEqual([
    'Renamed is complete',
    'published',
  ]);
});

test('a completed project and an update are drafts of their own', async () => {
  await trigger({ event: 'Project' });
  await trigger({ event: 'ProjectUpdate' });
  await deliver('Project', sample('Project'));
  await deliver('ProjectUpdate', sample('ProjectUpdate'));
  await deliver('InitiativeUpdate', sample('InitiativeUpdate'));
  expect(await postsOf(app)).toMatchObject([
    { sourceMetadata: { platform: 'linear' } },
    { sourceMetadata: { platform: 'linear' } },
    { sourceMetadata: { platform: 'linear' } },
  ]);
  expect((await postsOf(app)).map(({ title }) => title).sort()).toEqual([
    'Good neighbours: on track',
    'Quieter engines is complete',
    'Quieter engines: on track',
  ]);
  const later = { 'data.updatedAt': '2026-11-20T12:30:00.000Z', 'data.status.type': 'started' };
  await deliver('Project', sample('Project', later));
  expect((await postsOf(app)).map(({ title }) => title)).not.toContain('Quieter engines is complete');
});

import { describe, expect, test } from 'bun:test';
import { sampleEvents, samplePayload } from '../../../src/providers/index.ts';
import { linear } from '../../../src/providers/linear/provider.ts';
import { changed, readEvent, refusalOf } from '../../support/payloads.ts';

const now = new Date('2026-11-20T12:00:00.000Z');
const sample = (event: string) => samplePayload('linear', event, { now }) ?? {};
const id = (head: string) => `${head}-7a10-4c2e-9b3d-0d6f5a8e41c7`;

const issueData = {
  id: id('005e1f0a'),
  identifier: 'ENG-412',
  previousIdentifiers: [],
  title: 'Fuel gauge',
  description: "After midnight the gauge still shows yesterday's value.",
  url: 'https://linear.app/acme/issue/ENG-412/fuel-gauge',
  team: { id: id('005e1f02'), key: 'ENG', name: 'Engineering' },
  project: { id: id('005e1f03'), name: 'Quieter engines' },
  milestone: null,
  labels: ['Bug'],
  assignee: 'Ann',
  priority: 2,
  state: { name: 'Done', type: 'completed' },
  completedAt: '2026-11-20T12:00:00.000Z',
  actor: 'Ann',
  updatedAt: '2026-11-20T12:00:00.000Z',
  changedFields: ['updatedAt', 'completedAt', 'stateId', 'sortOrder'],
};

const projectUrl = 'https://linear.app/acme/project/quieter-engines-3f9c01aa52d7';
const projectData = {
  id: id('005e1f03'),
  name: 'Quieter engines',
  description: 'Engines that neighbours can live with',
  content: '## Why\n\nThe neighbours asked.\n',
  url: projectUrl,
  status: { name: 'Completed', type: 'completed' },
  lead: 'Ann',
  teamIds: [id('005e1f02')],
  initiatives: [{ id: id('005e1f04'), name: 'Good neighbours' }],
  health: 'onTrack',
  completedAt: '2026-11-20T12:00:00.000Z',
  targetDate: '2026-11-20',
  updatedAt: '2026-11-20T12:00:00.000Z',
  actor: 'Ann',
  changedFields: ['updatedAt', 'completedAt', 'statusId'],
};

const initiativeUrl = 'https://linear.app/acme/initiative/good-neighbours-81b0c7d2e945';
const projectUpdateData = {
  id: id('005e1f1e'),
  about: { kind: 'project', id: id('005e1f03'), name: 'Quieter engines', url: projectUrl },
  body: 'Quiet mode is out. Engines start **40 % softer**.',
  health: 'onTrack',
  author: 'Ann',
  createdAt: '2026-11-20T12:00:00.000Z',
  url: `${projectUrl}/updates#project-update-51c07de9`,
};

test('there is a sample of each event that Tidings knows, and of no other', () => {
  expect(sampleEvents('linear').toSorted()).toEqual(Object.keys(linear.events).toSorted());
  expect(samplePayload('linear', 'Comment', { now })).toBeNull();
  expect(samplePayload('linear', 'toString', { now })).toBeNull();
});

describe('the whole of', () => {
  test.each<[event: string, title: string, type: string, action: string, data: object]>([
    ['Issue', 'ENG-412 completed: Fuel gauge', 'issue', 'completed', issueData],
    [
      'Attachment',
      'Pull request #212 linked: Fuel gauge shows the value of today',
      'issue',
      'linked',
      {
        id: id('005e1f0f'),
        issueId: id('005e1f0a'),
        title: 'Fuel gauge shows the value of today',
        url: 'https://github.com/acme/rocket/pull/212',
        updatedAt: '2026-11-20T12:00:00.000Z',
      },
    ],
    ['Project', 'Project completed: Quieter engines', 'project', 'completed', projectData],
    [
      'ProjectUpdate',
      'Project update posted: Quieter engines',
      'project_update',
      'created',
      projectUpdateData,
    ],
    [
      'InitiativeUpdate',
      'Initiative update posted: Good neighbours',
      'project_update',
      'created',
      {
        ...projectUpdateData,
        id: id('005e1f1f'),
        about: { kind: 'initiative', id: id('005e1f04'), name: 'Good neighbours', url: initiativeUrl },
        body: 'Two of three projects are done.',
        url: `${initiativeUrl}/updates#initiative-update-9e20b3f4`,
      },
    ],
  ])('%s', (event, title, type, action, data) => {
    expect(readEvent(linear, event, sample(event))).toEqual({
      outcome: 'processed',
      title,
      processed: { type, action, data: { ...data } },
    });
  });
});

const started = { 'data.state': { id: 'x', color: '#fff', name: 'In Progress', type: 'started' } };
const paused = { 'data.status': { id: 'x', color: '#fff', name: 'Paused', type: 'paused' } };

describe('the action of an event', () => {
  test.each<[event: string, changes: Record<string, unknown>, title: string]>([
    ['Issue', { updatedFrom: { stateId: null } }, 'ENG-412 completed: Fuel gauge'],
    ['Issue', { action: 'create', updatedFrom: undefined }, 'ENG-412 completed: Fuel gauge'],
    ['Issue', { action: 'create', updatedFrom: undefined, ...started }, 'ENG-412 created: Fuel gauge'],
    ['Issue', { updatedFrom: { title: 'Gauge' } }, 'ENG-412 updated: Fuel gauge'],
    ['Issue', { updatedFrom: null }, 'ENG-412 updated: Fuel gauge'],
    ['Issue', { updatedFrom: undefined }, 'ENG-412 updated: Fuel gauge'],
    ['Issue', started, 'ENG-412 updated: Fuel gauge'],
    ['Issue', { 'data.state.type': 'canceled' }, 'ENG-412 updated: Fuel gauge'],
    ['Issue', { action: 'remove', updatedFrom: undefined, url: undefined }, 'ENG-412 removed: Fuel gauge'],
    ['Project', { action: 'create', updatedFrom: undefined }, 'Project completed: Quieter engines'],
    ['Project', { action: 'create', updatedFrom: undefined, ...paused }, 'Project created: Quieter engines'],
    ['Project', { updatedFrom: { stateId: 'x' } }, 'Project updated: Quieter engines'],
    ['Project', { updatedFrom: { health: null } }, 'Project updated: Quieter engines'],
    ['Project', paused, 'Project updated: Quieter engines'],
    ['Project', { 'data.status': undefined }, 'Project updated: Quieter engines'],
    ['Project', { action: 'remove', updatedFrom: undefined }, 'Project removed: Quieter engines'],
  ])('%s %o', (event, changes, title) => {
    const result = readEvent(linear, event, changed(sample(event), changes));
    const happened = / (completed|created|updated|removed):/.exec(title)?.[1];
    expect(result).toMatchObject({ outcome: 'processed', title, processed: { action: happened } });
  });
});

test('a link that is changed stays a link, and a removed one is none', () => {
  const actionOf = (action: string) => {
    const result = readEvent(linear, 'Attachment', changed(sample('Attachment'), { action }));
    return result.outcome === 'processed' ? result.processed.action : result.outcome;
  };
  expect(['create', 'update', 'remove', 'restore'].map(actionOf)).toEqual([
    'linked',
    'linked',
    'unlinked',
    'ignored',
  ]);
});

test.each([
  'https://acme.slack.com/archives/C01/p1700000000',
  'https://github.com/acme/rocket/issues/12',
  'https://github.com/acme/rocket/pull/new',
  'javascript:alert(1)//pull/12',
  '',
])('an attachment with the URL %p is no pull request', (url) => {
  expect(readEvent(linear, 'Attachment', changed(sample('Attachment'), { 'data.url': url }))).toMatchObject({
    outcome: 'ignored',
    reason: 'Tidings processes attachments that are pull requests only',
  });
});

describe('ignored events', () => {
  const entity = 'Tidings processes the actions create, update and remove, not';
  const update = 'Tidings processes new updates, not the action';
  test.each<[event: string, action: string, title: string, reason: string]>([
    ['Issue', 'restore', 'ENG-412 changed: Fuel gauge', `${entity} restore`],
    ['Project', 'archive', 'Project changed: Quieter engines', `${entity} archive`],
    ['ProjectUpdate', 'update', 'Project update edited: Quieter engines', `${update} update`],
    ['ProjectUpdate', 'remove', 'Project update removed: Quieter engines', `${update} remove`],
    ['InitiativeUpdate', 'update', 'Initiative update edited: Good neighbours', `${update} update`],
    ['InitiativeUpdate', 'toString', 'Initiative update changed: Good neighbours', `${update} toString`],
  ])('%s %s', (event, action, title, reason) => {
    const result = readEvent(linear, event, changed(sample(event), { action }));
    expect(result).toEqual({ outcome: 'ignored', title, reason });
  });

  test.each(['Comment', 'Cycle', 'IssueSLA', 'Nonsense'])('the event %s', (event) => {
    const reason = `Tidings does not use the event ${event}`;
    expect(readEvent(linear, event, {})).toEqual({
      outcome: 'ignored',
      title: `Linear event: ${event}`,
      reason,
    });
  });
});

test.each(sampleEvents('linear'))(
  'a body that is no %s is not taken for one: the header is not signed',
  (event) => {
    const message = `type must be ${event}, as the header Linear-Event says`;
    expect(refusalOf(linear, event, changed(sample(event), { type: 'Comment' }))).toBe(message);
  },
);

describe('the actor of an event', () => {
  test.each([
    [{ id: 'x', type: 'user', name: 'Ann', email: 'ann@acme.test' }, 'Ann'],
    [{ id: 'x', type: 'user', name: 'ann@acme.test', email: 'ann@acme.test' }, 'ann'],
    [{ id: 'x', type: 'integration', service: 'github' }, 'github'],
    [{ id: 'x', type: 'oauthClient', name: 'Deploy bot' }, 'Deploy bot'],
    [null, null],
    [undefined, null],
  ])('%o', (actor, name) => {
    const result = readEvent(linear, 'Issue', changed(sample('Issue'), { actor }));
    expect(result).toMatchObject({ processed: { data: { actor: name } } });
  });

  test('no e-mail address gets through', () => {
    for (const event of sampleEvents('linear')) {
      expect(JSON.stringify(sample(event))).toContain('@');
      expect(JSON.stringify(readEvent(linear, event, sample(event)))).not.toContain('@');
    }
  });
});

test('of many former identifiers the latest are kept', () => {
  const previousIdentifiers = Array.from({ length: 25 }, (_, index) => `ENG-${index}`);
  const result = readEvent(
    linear,
    'Issue',
    changed(sample('Issue'), { 'data.previousIdentifiers': previousIdentifiers }),
  );
  expect(result).toMatchObject({
    processed: { data: { previousIdentifiers: previousIdentifiers.slice(-20) } },
  });
});

test('an event without a parent has null there', () => {
  const loose = changed(sample('Issue'), {
    'data.team': undefined,
    'data.project': null,
    'data.assignee': null,
    'data.url': undefined,
    'data.projectMilestone': { id: 'm', name: 'Beta', targetDate: '2026-12-01' },
  });
  expect(readEvent(linear, 'Issue', loose)).toMatchObject({
    processed: {
      data: {
        team: null,
        project: null,
        assignee: null,
        url: issueData.url,
        milestone: { id: 'm', name: 'Beta' },
      },
    },
  });
});

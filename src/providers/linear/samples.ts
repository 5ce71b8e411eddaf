import type { Payload, SampleContext } from '../provider.ts';

interface Times {
  /** As Linear writes times. */
  minutesAgo(minutes: number): string;
  /** The day, such as `2026-11-20`. */
  today: string;
  nowMs: number;
}

/** An id of the form that Linear gives: a UUID, of version 4 by its looks. */
function sampleId(number: number): string {
  return `${(0x5e1f00 + number).toString(16).padStart(8, '0')}-7a10-4c2e-9b3d-0d6f5a8e41c7`;
}

const ANN = {
  id: sampleId(1),
  name: 'Ann',
  email: 'ann@acme.test',
  avatarUrl: null,
  url: 'https://linear.app/acme/profiles/ann',
};

const TEAM = { id: sampleId(2), key: 'ENG', name: 'Engineering' };

const PROJECT = {
  id: sampleId(3),
  name: 'Quieter engines',
  url: 'https://linear.app/acme/project/quieter-engines-3f9c01aa52d7',
};

const INITIATIVE = {
  id: sampleId(4),
  name: 'Good neighbours',
  url: 'https://linear.app/acme/initiative/good-neighbours-81b0c7d2e945',
};

/** The fields around `data` of every payload. */
function envelope<const Type extends string, Data extends object>(
  { minutesAgo, nowMs }: Times,
  { type, action, data, url }: { type: Type; action: string; data: Data; url: string },
) {
  return {
    action,
    actor: { ...ANN, type: 'user' },
    createdAt: minutesAgo(0),
    data,
    url,
    type,
    organizationId: sampleId(5),
    webhookTimestamp: nowMs,
    webhookId: sampleId(6),
  };
}

const ISSUE_URL = 'https://linear.app/acme/issue/ENG-412/fuel-gauge';

/** An issue that was just completed. */
export function issue(context: Times) {
  const { minutesAgo } = context;
  const data = {
    id: sampleId(10),
    createdAt: minutesAgo(9000),
    updatedAt: minutesAgo(0),
    startedAt: minutesAgo(500),
    completedAt: minutesAgo(0),
    canceledAt: null,
    archivedAt: null,
    dueDate: null,
    number: 412,
    identifier: 'ENG-412',
    previousIdentifiers: [],
    title: 'Fuel gauge',
    description: "After midnight the gauge still shows yesterday's value.",
    url: ISSUE_URL,
    priority: 2,
    priorityLabel: 'High',
    prioritySortOrder: -31.5,
    sortOrder: -120.25,
    estimate: 3,
    stateId: sampleId(11),
    state: { id: sampleId(11), color: '#5e6ad2', name: 'Done', type: 'completed' },
    teamId: TEAM.id,
    team: TEAM,
    projectId: PROJECT.id,
    project: PROJECT,
    assigneeId: ANN.id,
    assignee: ANN,
    creatorId: ANN.id,
    labelIds: [sampleId(12)],
    labels: [{ id: sampleId(12), color: '#eb5757', name: 'Bug', parentId: null }],
    subscriberIds: [ANN.id],
    releases: [],
    reactionData: [],
    slaType: 'all',
  };
  return {
    ...envelope(context, { type: 'Issue', action: 'update', data, url: ISSUE_URL }),
    updatedFrom: { updatedAt: minutesAgo(500), completedAt: null, stateId: sampleId(13), sortOrder: 4.5 },
  };
}

/** A project that was just completed. */
export function project(context: Times) {
  const { minutesAgo, today } = context;
  const data = {
    ...PROJECT,
    createdAt: minutesAgo(90_000),
    updatedAt: minutesAgo(0),
    startedAt: minutesAgo(60_000),
    completedAt: minutesAgo(0),
    canceledAt: null,
    archivedAt: null,
    description: 'Engines that neighbours can live with',
    content: '## Why\n\nThe neighbours asked.\n',
    color: '#4cb782',
    icon: null,
    slugId: '3f9c01aa52d7',
    statusId: sampleId(20),
    status: { id: sampleId(20), color: '#5e6ad2', name: 'Completed', type: 'completed' },
    creatorId: ANN.id,
    leadId: ANN.id,
    lead: ANN,
    memberIds: [ANN.id],
    teamIds: [TEAM.id],
    labelIds: [],
    initiatives: [INITIATIVE],
    milestones: [],
    health: 'onTrack',
    healthUpdatedAt: minutesAgo(2000),
    targetDate: today,
    priority: 2,
    prioritySortOrder: 0,
    sortOrder: 12.5,
    ...HISTORY,
  };
  return {
    ...envelope(context, { type: 'Project', action: 'update', data, url: PROJECT.url }),
    updatedFrom: { updatedAt: minutesAgo(2000), completedAt: null, statusId: sampleId(21) },
  };
}

const HISTORY = {
  issueCountHistory: [3, 7],
  completedIssueCountHistory: [1, 7],
  scopeHistory: [8, 19],
  completedScopeHistory: [2, 19],
  inProgressScopeHistory: [5, 0],
};

/** A report on a project that was just posted. */
export function projectUpdate(context: Times) {
  const url = `${PROJECT.url}/updates#project-update-51c07de9`;
  const data = {
    ...updateFields(context, 30),
    body: 'Quiet mode is out. Engines start **40 % softer**.',
    url,
    projectId: PROJECT.id,
    project: PROJECT,
  };
  return envelope(context, { type: 'ProjectUpdate', action: 'create', data, url });
}

/** A report on an initiative that was just posted. */
export function initiativeUpdate(context: Times) {
  const url = `${INITIATIVE.url}/updates#initiative-update-9e20b3f4`;
  const data = {
    ...updateFields(context, 31),
    body: 'Two of three projects are done.',
    url,
    initiativeId: INITIATIVE.id,
    initiative: INITIATIVE,
  };
  return envelope(context, { type: 'InitiativeUpdate', action: 'create', data, url });
}

function updateFields({ minutesAgo }: Times, id: number) {
  return {
    id: sampleId(id),
    createdAt: minutesAgo(0),
    updatedAt: minutesAgo(0),
    editedAt: minutesAgo(0),
    archivedAt: null,
    bodyData: '{"type":"doc","content":[]}',
    diffMarkdown: null,
    health: 'onTrack',
    reactionData: [],
    slugId: `51c07de9${id}`,
    userId: ANN.id,
    user: ANN,
  };
}

export function timesAt(now: Date): Times {
  const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000).toISOString();
  return { minutesAgo, today: minutesAgo(0).slice(0, 10), nowMs: now.getTime() };
}

/** An issue and a project that were just completed, and updates that were just posted. */
export const samples: Readonly<Record<string, (context: SampleContext) => Payload>> = {
  Issue: ({ now }) => issue(timesAt(now)),
  Project: ({ now }) => project(timesAt(now)),
  ProjectUpdate: ({ now }) => projectUpdate(timesAt(now)),
  InitiativeUpdate: ({ now }) => initiativeUpdate(timesAt(now)),
};

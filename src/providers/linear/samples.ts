import type { SampleContext, Samples } from '../provider.ts';

// Tests hold these payloads against the types of Linear's SDK.

/** An id of the form that Linear gives: a UUID, of version 4 by its looks. */
function sampleId(number: number): string {
  return `${(0x5e1f00 + number).toString(16).padStart(8, '0')}-7a10-4c2e-9b3d-0d6f5a8e41c7`;
}

const ANN = {
  id: sampleId(1),
  name: 'Ann',
  email: 'ann@acme.test',
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

const REQUEST_URL = 'https://github.com/acme/rocket/pull/212';

const minutesBefore = (now: Date, minutes: number) =>
  new Date(now.getTime() - minutes * 60_000).toISOString();

/** The fields around `data` of every payload. */
const envelope = <const Type extends string, const Action extends string>(
  type: Type,
  action: Action,
  now: Date,
) => ({
  type,
  action,
  actor: { ...ANN, type: 'user' },
  createdAt: now.toISOString(),
  organizationId: sampleId(5),
  webhookTimestamp: now.getTime(),
  webhookId: sampleId(6),
});

const ISSUE_ID = sampleId(10);
const ISSUE_URL = 'https://linear.app/acme/issue/ENG-412/fuel-gauge';

/** An issue that was just completed. */
export const issue = ({ now }: SampleContext) => ({
  ...envelope('Issue', 'update', now),
  url: ISSUE_URL,
  data: {
    id: sampleId(10),
    createdAt: minutesBefore(now, 9000),
    updatedAt: now.toISOString(),
    completedAt: now.toISOString(),
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
    stateId: sampleId(11),
    state: { id: sampleId(11), color: '#5e6ad2', name: 'Done', type: 'completed' },
    teamId: TEAM.id,
    team: TEAM,
    projectId: PROJECT.id,
    project: PROJECT,
    assigneeId: ANN.id,
    assignee: ANN,
    labelIds: [sampleId(12)],
    labels: [{ id: sampleId(12), color: '#eb5757', name: 'Bug' }],
    subscriberIds: [ANN.id],
    releases: [],
    reactionData: [],
  },
  updatedFrom: {
    updatedAt: minutesBefore(now, 500),
    completedAt: null,
    stateId: sampleId(13),
    sortOrder: 4.5,
  },
});

/** A project that was just completed. */
export const project = ({ now }: SampleContext) => ({
  ...envelope('Project', 'update', now),
  url: PROJECT.url,
  data: {
    ...PROJECT,
    createdAt: minutesBefore(now, 90_000),
    updatedAt: now.toISOString(),
    completedAt: now.toISOString(),
    description: 'Engines that neighbours can live with',
    content: '## Why\n\nThe neighbours asked.\n',
    color: '#4cb782',
    slugId: '3f9c01aa52d7',
    statusId: sampleId(20),
    status: { id: sampleId(20), color: '#5e6ad2', name: 'Completed', type: 'completed' },
    leadId: ANN.id,
    lead: ANN,
    memberIds: [ANN.id],
    labelIds: [],
    teamIds: [TEAM.id],
    initiatives: [INITIATIVE],
    health: 'onTrack',
    targetDate: now.toISOString().slice(0, 10),
    priority: 2,
    prioritySortOrder: 0,
    sortOrder: 12.5,
    issueCountHistory: [3, 7],
    completedIssueCountHistory: [1, 7],
    scopeHistory: [8, 19],
    completedScopeHistory: [2, 19],
    inProgressScopeHistory: [5, 0],
  },
  updatedFrom: { updatedAt: minutesBefore(now, 2000), completedAt: null, statusId: sampleId(21) },
});

const update = (now: Date, number: number) => ({
  id: sampleId(number),
  createdAt: now.toISOString(),
  updatedAt: now.toISOString(),
  editedAt: now.toISOString(),
  bodyData: '{"type":"doc","content":[]}',
  health: 'onTrack',
  reactionData: [],
  slugId: `51c07de9${number}`,
  userId: ANN.id,
  user: ANN,
});

/** A report on a project that was just posted. */
export function projectUpdate({ now }: SampleContext) {
  const url = `${PROJECT.url}/updates#project-update-51c07de9`;
  const body = 'Quiet mode is out. Engines start **40 % softer**.';
  const data = { ...update(now, 30), body, url, projectId: PROJECT.id, project: PROJECT };
  return { ...envelope('ProjectUpdate', 'create', now), url, data };
}

/** A report on an initiative that was just posted. */
export function initiativeUpdate({ now }: SampleContext) {
  const url = `${INITIATIVE.url}/updates#initiative-update-9e20b3f4`;
  const body = 'Two of three projects are done.';
  const data = { ...update(now, 31), body, url, initiativeId: INITIATIVE.id, initiative: INITIATIVE };
  return { ...envelope('InitiativeUpdate', 'create', now), url, data };
}

const PIPELINE = {
  id: sampleId(40),
  name: 'Rocket',
  slugId: '7c40b1e2a9d3',
  type: 'scheduled',
  url: 'https://linear.app/acme/releases/rocket-7c40b1e2a9d3',
};

const RELEASE_ID = sampleId(41);
const RELEASE_URL = `${PIPELINE.url}/2-4-0`;

/** A release that was just completed. */
export const release = ({ now }: SampleContext) => ({
  ...envelope('Release', 'update', now),
  url: RELEASE_URL,
  data: {
    id: RELEASE_ID,
    createdAt: minutesBefore(now, 20_000),
    updatedAt: now.toISOString(),
    completedAt: now.toISOString(),
    startedAt: minutesBefore(now, 9_000),
    name: 'Rocket 2.4.0',
    version: '2.4.0',
    description: 'Quieter engines',
    slugId: '2c7f90e5b1d8',
    url: RELEASE_URL,
    pipelineId: PIPELINE.id,
    pipeline: PIPELINE,
    stageId: sampleId(42),
    stage: { id: sampleId(42), color: '#5e6ad2', name: 'Released', position: 3, type: 'completed' },
    creatorId: ANN.id,
    issues: [
      {
        id: sampleId(10),
        identifier: 'ENG-412',
        title: 'Fuel gauge',
        teamId: TEAM.id,
        team: TEAM,
        url: ISSUE_URL,
      },
      {
        id: sampleId(14),
        identifier: 'ENG-398',
        title: 'Quiet mode between 22:00 and 06:00',
        teamId: TEAM.id,
        team: TEAM,
        url: 'https://linear.app/acme/issue/ENG-398/quiet-mode',
      },
    ],
  },
  updatedFrom: { updatedAt: minutesBefore(now, 300), completedAt: null, stageId: sampleId(43) },
});

/** Notes that were just written for that release. */
export const releaseNote = ({ now }: SampleContext) => ({
  ...envelope('ReleaseNote', 'create', now),
  url: `${RELEASE_URL}/notes`,
  data: {
    id: sampleId(44),
    createdAt: now.toISOString(),
    updatedAt: now.toISOString(),
    title: 'Quieter engines',
    content:
      '## New\n\n- Engines start **40 % softer** at night\n- The fuel gauge shows the value of today\n',
    slugId: '90e5b1d82c7f',
    url: `${RELEASE_URL}/notes`,
    creatorId: ANN.id,
    pipelineId: PIPELINE.id,
    pipeline: PIPELINE,
    releaseIds: [RELEASE_ID],
    lastReleaseId: RELEASE_ID,
  },
});

/** A pull request that was just linked to the issue. */
export const attachment = ({ now }: SampleContext) => ({
  ...envelope('Attachment', 'create', now),
  data: {
    id: sampleId(15),
    createdAt: now.toISOString(),
    updatedAt: now.toISOString(),
    title: 'Fuel gauge shows the value of today',
    subtitle: 'acme/rocket#212',
    url: REQUEST_URL,
    issueId: ISSUE_ID,
    creatorId: ANN.id,
    sourceType: 'github',
    source: { type: 'githubPr' },
    metadata: { url: REQUEST_URL, number: 212, status: 'merged' },
    groupBySource: false,
  },
});

export const samples: Samples = {
  Issue: issue,
  Attachment: attachment,
  Release: release,
  ReleaseNote: releaseNote,
  Project: project,
  ProjectUpdate: projectUpdate,
  InitiativeUpdate: initiativeUpdate,
};

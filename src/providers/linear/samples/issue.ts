import { ANN, envelope, PROJECT, type SampleContext, sampleId, TEAM } from './context.ts';

const URL = 'https://linear.app/acme/issue/ENG-412/fuel-gauge';

/** An issue that was just completed. */
export function issue(context: SampleContext) {
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
    url: URL,
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
    ...envelope(context, { type: 'Issue', action: 'update', data, url: URL }),
    updatedFrom: { updatedAt: minutesAgo(500), completedAt: null, stateId: sampleId(13), sortOrder: 4.5 },
  };
}

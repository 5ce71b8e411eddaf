import { ANN, envelope, INITIATIVE, PROJECT, type SampleContext, sampleId, TEAM } from './context.ts';

/** A project that was just completed. */
export function project(context: SampleContext) {
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

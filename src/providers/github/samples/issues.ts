import { nodeId, sampleAccount } from './account.ts';
import type { SampleContext } from './context.ts';
import { sampleLabel } from './label.ts';
import { milestoneObject } from './milestone.ts';

const ID = 2_318_640_027;
const NUMBER = 34;

/** An issue that was just closed, as completed. */
export function issues(context: SampleContext): Record<string, unknown> {
  const { pageUrl, apiUrl, minutesAgo, common } = context;
  const self = `${apiUrl}/issues/${NUMBER}`;
  const issue = {
    url: self,
    repository_url: apiUrl,
    labels_url: `${self}/labels{/name}`,
    comments_url: `${self}/comments`,
    events_url: `${self}/events`,
    timeline_url: `${self}/timeline`,
    html_url: `${pageUrl}/issues/${NUMBER}`,
    id: ID,
    node_id: nodeId('Issue', ID),
    number: NUMBER,
    title: 'The fuel gauge lives in the past',
    user: sampleAccount('cleo', 583_233),
    labels: [sampleLabel(apiUrl, 'bug', 'd73a4a')],
    state: 'closed',
    locked: false,
    assignee: null,
    assignees: [],
    milestone: milestoneObject(context, { state: 'open', closedAt: null }),
    comments: 2,
    created_at: minutesAgo(9000),
    updated_at: minutesAgo(1),
    closed_at: minutesAgo(1),
    author_association: 'NONE',
    active_lock_reason: null,
    body: "After midnight the gauge still shows yesterday's value.",
    reactions: { url: `${self}/reactions`, ...REACTIONS },
    performed_via_github_app: null,
    state_reason: 'completed',
  };
  return { action: 'closed', issue, ...common };
}

const REACTIONS = {
  total_count: 1,
  '+1': 1,
  '-1': 0,
  laugh: 0,
  hooray: 0,
  confused: 0,
  heart: 0,
  rocket: 0,
  eyes: 0,
};

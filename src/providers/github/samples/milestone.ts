import { nodeId } from './account.ts';
import type { SampleContext } from './context.ts';

const ID = 9_417_552;
const NUMBER = 4;

/** A milestone that was just closed. */
export function milestone(context: SampleContext): Record<string, unknown> {
  const closed = milestoneObject(context, { state: 'closed', closedAt: context.minutesAgo(1) });
  return { action: 'closed', milestone: closed, ...context.common };
}

export function milestoneObject(
  { pageUrl, apiUrl, minutesAgo, common }: SampleContext,
  { state, closedAt }: { state: 'open' | 'closed'; closedAt: string | null },
): Record<string, unknown> {
  return {
    url: `${apiUrl}/milestones/${NUMBER}`,
    html_url: `${pageUrl}/milestone/${NUMBER}`,
    labels_url: `${apiUrl}/milestones/${NUMBER}/labels`,
    id: ID,
    node_id: nodeId('Milestone', ID),
    number: NUMBER,
    title: 'Quieter engines',
    description: 'What the neighbours asked for',
    creator: common.sender,
    open_issues: state === 'open' ? 2 : 0,
    closed_issues: 7,
    state,
    created_at: minutesAgo(50_000),
    updated_at: minutesAgo(1),
    due_on: minutesAgo(-10_000),
    closed_at: closedAt,
  };
}

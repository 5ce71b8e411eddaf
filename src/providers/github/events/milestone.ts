import { type Static, Type } from '@sinclair/typebox';
import { bodyOf, lineOf, MaybeNumber, MaybeText, textOf, urlOf } from '../../fields.ts';
import { defineEvent } from '../../provider.ts';
import { ignored, processed, words } from '../../results.ts';

/** A milestone that was closed. */
export interface MilestoneData {
  number: number;
  title: string;
  /** In Markdown, at most 200,000 characters; null when there is none. */
  description: string | null;
  openIssueCount: number | null;
  closedIssueCount: number | null;
  /** ISO 8601, both. */
  dueOn: string | null;
  closedAt: string | null;
  url: string | null;
}

const Milestone = Type.Object({
  number: Type.Integer(),
  title: Type.String(),
  description: MaybeText,
  open_issues: MaybeNumber,
  closed_issues: MaybeNumber,
  due_on: MaybeText,
  closed_at: MaybeText,
  html_url: MaybeText,
});

/** docs.github.com/webhooks/webhook-events-and-payloads#milestone. */
export const milestone = defineEvent(
  Type.Object({ action: Type.String({ minLength: 1 }), milestone: Milestone }),
  ({ action, milestone }) => {
    const title = `Milestone ${words(action)}: ${milestone.title}`;
    if (action !== 'closed') {
      return ignored(title, `Only milestones that are closed are processed, not the action ${action}`);
    }
    return processed(title, { type: 'milestone', action: 'closed', data: toData(milestone) });
  },
);

function toData(milestone: Static<typeof Milestone>): MilestoneData {
  return {
    number: milestone.number,
    title: textOf(milestone.title),
    description: bodyOf(milestone.description),
    openIssueCount: milestone.open_issues ?? null,
    closedIssueCount: milestone.closed_issues ?? null,
    dueOn: lineOf(milestone.due_on),
    closedAt: lineOf(milestone.closed_at),
    url: urlOf(milestone.html_url),
  };
}

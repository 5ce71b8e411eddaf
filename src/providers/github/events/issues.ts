import { type Static, Type } from '@sinclair/typebox';
import { bodyOf, lineOf, MaybeNames, MaybeText, namesOf, personOf, textOf, urlOf } from '../../fields.ts';
import { defineEvent } from '../../provider.ts';
import { ignored, processed, words } from '../../results.ts';
import { Account, MaybeMilestone } from './fields.ts';

/** An issue that was closed. */
export interface IssueData {
  number: number;
  title: string;
  /** Its description, in Markdown, at most 200,000 characters; null when there is none. */
  body: string | null;
  /** The login of whoever opened it. */
  author: string | null;
  closedBy: string | null;
  /** Names of labels, such as `bug`. */
  labels: string[];
  /** The title of its milestone. */
  milestone: string | null;
  /** Why it was closed: `completed`, `not_planned`, `duplicate`, or null where GitHub does not say. */
  stateReason: string | null;
  /** ISO 8601. */
  closedAt: string | null;
  url: string | null;
}

const Issue = Type.Object({
  number: Type.Integer(),
  title: Type.String(),
  body: MaybeText,
  user: Account,
  labels: MaybeNames,
  milestone: MaybeMilestone,
  state_reason: MaybeText,
  closed_at: MaybeText,
  html_url: MaybeText,
});

/** docs.github.com/webhooks/webhook-events-and-payloads#issues. */
export const issues = defineEvent(
  Type.Object({ action: Type.String({ minLength: 1 }), issue: Issue, sender: Account }),
  ({ action, issue, sender }) => {
    const title = `Issue #${issue.number} ${words(action)}: ${issue.title}`;
    if (action !== 'closed') {
      return ignored(title, `Only issues that are closed are processed, not the action ${action}`);
    }
    const data = toData(issue, personOf(sender?.login));
    return processed(title, { type: 'issue', action: 'closed', data });
  },
);

function toData(issue: Static<typeof Issue>, closedBy: string | null): IssueData {
  return {
    number: issue.number,
    title: textOf(issue.title),
    body: bodyOf(issue.body),
    author: personOf(issue.user?.login),
    closedBy,
    labels: namesOf(issue.labels),
    milestone: lineOf(issue.milestone?.title),
    stateReason: lineOf(issue.state_reason),
    closedAt: lineOf(issue.closed_at),
    url: urlOf(issue.html_url),
  };
}

import { Type } from '@sinclair/typebox';
import { Account, gitEvents, MaybeMilestone, words } from '../git-events.ts';
import {
  Action,
  defineEvent,
  type EventHandler,
  ignored,
  Maybe,
  maybe,
  processed,
  read,
} from '../provider.ts';

// docs.github.com/webhooks/webhook-events-and-payloads

/** GitHub sends a ping when a webhook is set up, and on request. */
const ping = defineEvent(Type.Object({}), () => ({
  outcome: 'ping',
  title: 'Ping: the webhook is configured',
}));

/** A new tag or branch. GitHub does not send it when more than three tags come at once. */
const create = defineEvent(
  Type.Object({
    ref: Type.String({ minLength: 1 }),
    ref_type: Type.String({ minLength: 1 }),
    sender: Account,
    repository: maybe(Type.Object({ html_url: Maybe.Text }), 'a repository'),
  }),
  ({ ref, ref_type: kind, sender, repository }) => {
    if (kind !== 'tag') {
      return ignored(`New ${kind}: ${ref}`, `Tidings processes new tags only; this is a new ${kind}`);
    }
    const home = read.url(repository?.html_url);
    const data = {
      name: read.text(ref),
      author: read.person(sender?.login),
      url: home && read.url(`${home}/tree/${ref.split('/').map(encodeURIComponent).join('/')}`),
    };
    return processed(`Tag ${ref} created`, 'tag', 'created', data);
  },
);

const issues = defineEvent(
  Type.Object({
    action: Action,
    issue: Type.Object({
      number: Type.Integer(),
      title: Type.String(),
      body: Maybe.Text,
      user: Account,
      labels: Maybe.Names,
      milestone: MaybeMilestone,
      state_reason: Maybe.Text,
      closed_at: Maybe.Text,
      html_url: Maybe.Text,
    }),
    sender: Account,
  }),
  ({ action, issue, sender }) => {
    const title = `Issue #${issue.number} ${words(action)}: ${issue.title}`;
    if (action !== 'closed') {
      return ignored(title, `Tidings processes closed issues, not the action ${action}`);
    }
    const data = {
      number: issue.number,
      title: read.text(issue.title),
      body: read.body(issue.body),
      author: read.person(issue.user?.login),
      closedBy: read.person(sender?.login),
      labels: read.names(issue.labels),
      milestone: read.line(issue.milestone?.title),
      stateReason: read.line(issue.state_reason),
      closedAt: read.line(issue.closed_at),
      url: read.url(issue.html_url),
    };
    return processed(title, 'issue', 'closed', data);
  },
);

const milestone = defineEvent(
  Type.Object({
    action: Action,
    milestone: Type.Object({
      number: Type.Integer(),
      title: Type.String(),
      description: Maybe.Text,
      open_issues: Maybe.Number,
      closed_issues: Maybe.Number,
      due_on: Maybe.Text,
      closed_at: Maybe.Text,
      html_url: Maybe.Text,
    }),
  }),
  ({ action, milestone }) => {
    const title = `Milestone ${words(action)}: ${milestone.title}`;
    if (action !== 'closed') {
      return ignored(title, `Tidings processes closed milestones, not the action ${action}`);
    }
    const data = {
      number: milestone.number,
      title: read.text(milestone.title),
      description: read.body(milestone.description),
      openIssueCount: milestone.open_issues ?? null,
      closedIssueCount: milestone.closed_issues ?? null,
      dueOn: read.line(milestone.due_on),
      closedAt: read.line(milestone.closed_at),
      url: read.url(milestone.html_url),
    };
    return processed(title, 'milestone', 'closed', data);
  },
);

const star = defineEvent(
  Type.Object({
    action: Action,
    starred_at: Maybe.Text,
    sender: Type.Object({ login: Type.String({ minLength: 1 }) }),
    repository: maybe(Type.Object({ stargazers_count: Maybe.Number }), 'a repository'),
  }),
  ({ action, starred_at: starredAt, sender, repository }) => {
    if (action !== 'created') {
      return ignored(
        `Star ${action} by ${sender.login}`,
        `Tidings processes new stars, not the action ${action}`,
      );
    }
    const data = {
      stargazer: read.text(sender.login),
      starredAt: read.line(starredAt),
      starCount: repository?.stargazers_count ?? null,
    };
    return processed(`Star from ${sender.login}`, 'star', 'created', data);
  },
);

/** GitHub's events, by `X-GitHub-Event`. */
export const events: Readonly<Record<string, EventHandler>> = {
  ...gitEvents,
  ping,
  create,
  issues,
  milestone,
  star,
};

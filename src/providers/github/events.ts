import { Type } from '@sinclair/typebox';
import { Account, gitEvents, MaybeMilestone, words } from '../git-events.ts';
import {
  Action,
  bodyOf,
  defineEvent,
  type EventHandler,
  ignored,
  lineOf,
  MaybeNames,
  MaybeNumber,
  MaybeText,
  maybe,
  namesOf,
  personOf,
  processed,
  textOf,
  urlOf,
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
    repository: maybe(Type.Object({ html_url: MaybeText }), 'a repository'),
  }),
  ({ ref, ref_type: kind, sender, repository }) => {
    if (kind !== 'tag') {
      return ignored(`New ${kind}: ${ref}`, `Only new tags are processed; this is a new ${kind}`);
    }
    const home = urlOf(repository?.html_url);
    const data = {
      name: textOf(ref),
      author: personOf(sender?.login),
      url: home && urlOf(`${home}/tree/${ref.split('/').map(encodeURIComponent).join('/')}`),
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
      body: MaybeText,
      user: Account,
      labels: MaybeNames,
      milestone: MaybeMilestone,
      state_reason: MaybeText,
      closed_at: MaybeText,
      html_url: MaybeText,
    }),
    sender: Account,
  }),
  ({ action, issue, sender }) => {
    const title = `Issue #${issue.number} ${words(action)}: ${issue.title}`;
    if (action !== 'closed') {
      return ignored(title, `Only issues that are closed are processed, not the action ${action}`);
    }
    const data = {
      number: issue.number,
      title: textOf(issue.title),
      body: bodyOf(issue.body),
      author: personOf(issue.user?.login),
      closedBy: personOf(sender?.login),
      labels: namesOf(issue.labels),
      milestone: lineOf(issue.milestone?.title),
      stateReason: lineOf(issue.state_reason),
      closedAt: lineOf(issue.closed_at),
      url: urlOf(issue.html_url),
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
      description: MaybeText,
      open_issues: MaybeNumber,
      closed_issues: MaybeNumber,
      due_on: MaybeText,
      closed_at: MaybeText,
      html_url: MaybeText,
    }),
  }),
  ({ action, milestone }) => {
    const title = `Milestone ${words(action)}: ${milestone.title}`;
    if (action !== 'closed') {
      return ignored(title, `Only milestones that are closed are processed, not the action ${action}`);
    }
    const data = {
      number: milestone.number,
      title: textOf(milestone.title),
      description: bodyOf(milestone.description),
      openIssueCount: milestone.open_issues ?? null,
      closedIssueCount: milestone.closed_issues ?? null,
      dueOn: lineOf(milestone.due_on),
      closedAt: lineOf(milestone.closed_at),
      url: urlOf(milestone.html_url),
    };
    return processed(title, 'milestone', 'closed', data);
  },
);

const star = defineEvent(
  Type.Object({
    action: Action,
    starred_at: MaybeText,
    sender: Type.Object({ login: Type.String({ minLength: 1 }) }),
    repository: maybe(Type.Object({ stargazers_count: MaybeNumber }), 'a repository'),
  }),
  ({ action, starred_at: starredAt, sender, repository }) => {
    if (action !== 'created') {
      return ignored(
        `Star ${action} by ${sender.login}`,
        `Only new stars are processed, not the action ${action}`,
      );
    }
    const data = {
      stargazer: textOf(sender.login),
      starredAt: lineOf(starredAt),
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

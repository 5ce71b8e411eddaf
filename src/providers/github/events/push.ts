import { type Static, Type } from '@sinclair/typebox';
import { count } from '../../../lib/text.ts';
import { lineOf, MaybeBoolean, MaybeText, maybe, personOf, textOf, timeOf, urlOf } from '../../fields.ts';
import { defineEvent } from '../../provider.ts';
import { ignored, processed } from '../../results.ts';
import { messageLengthFor, messageOf } from './commit-message.ts';

/** Commits that reached the default branch. */
export interface PushData {
  branch: string;
  /** The commit that the branch was at before; 40 zeros for a new branch. */
  before: string | null;
  after: string | null;
  /** A page that shows the change as a whole. */
  compareUrl: string | null;
  /** Whether history was rewritten. */
  isForced: boolean;
  /** When GitHub took it, as ISO 8601; null where it does not say. */
  pushedAt: string | null;
  /** The login of whoever pushed. */
  pusher: string | null;
  /** Oldest first. GitHub sends at most 2048. */
  commits: PushedCommit[];
}

export interface PushedCommit {
  id: string;
  /** The whole message, within bounds; e-mail addresses are taken out of its trailers. */
  message: string;
  /** The author's name as Git has it. */
  author: string | null;
  /** The author's login, where GitHub knows it. */
  authorLogin: string | null;
  url: string | null;
  /** ISO 8601, often with the author's own offset. */
  timestamp: string | null;
}

const Person = maybe(Type.Object({ name: MaybeText, username: MaybeText }), 'a person');

const Commit = Type.Object({
  id: Type.String(),
  message: Type.String(),
  author: Person,
  url: MaybeText,
  timestamp: MaybeText,
});

const Push = Type.Object({
  ref: Type.String(),
  before: MaybeText,
  after: MaybeText,
  compare: MaybeText,
  deleted: MaybeBoolean,
  forced: MaybeBoolean,
  pusher: Person,
  commits: Type.Array(Commit),
  repository: Type.Object({
    default_branch: Type.String({ minLength: 1 }),
    // Seconds since 1970 in a push; other events have it as text.
    pushed_at: maybe(Type.Union([Type.Number(), Type.String()]), 'a time'),
  }),
});

/** docs.github.com/webhooks/webhook-events-and-payloads#push. Pushes of tags come here too. */
export const push = defineEvent(Push, (payload) => {
  const { ref, commits } = payload;
  const branch = payload.repository.default_branch;
  if (ref.startsWith('refs/tags/')) {
    const verb = payload.deleted ? 'deleted' : 'pushed';
    return ignored(
      `Tag ${ref.slice('refs/tags/'.length)} ${verb}`,
      'Only pushes to branches are processed; a new tag is processed when the event create tells of it',
    );
  }
  const name = ref.replace(/^refs\/heads\//, '');
  if (payload.deleted)
    return ignored(`Branch ${name} deleted`, 'The push deleted the branch and brought no commits');
  if (ref !== `refs/heads/${branch}`) {
    return ignored(
      'Push to a side branch',
      `Only pushes to ${branch}, the default branch, are processed; this one went to ${name}`,
    );
  }
  if (commits.length === 0)
    return ignored(`Push to ${branch} without commits`, 'The push brought no commits');
  return processed(`${count(commits.length, 'commit')} pushed to ${branch}`, {
    type: 'push',
    action: 'pushed',
    data: toData(payload, branch),
  });
});

function toData(payload: Static<typeof Push>, branch: string): PushData {
  return {
    branch,
    before: lineOf(payload.before),
    after: lineOf(payload.after),
    compareUrl: urlOf(payload.compare),
    isForced: payload.forced === true,
    pushedAt: timeOf(payload.repository.pushed_at),
    pusher: personOf(payload.pusher?.name),
    commits: payload.commits.map((commit) => toCommit(commit, messageLengthFor(payload.commits.length))),
  };
}

function toCommit(
  { id, message, author, url, timestamp }: Static<typeof Commit>,
  maxLength: number,
): PushedCommit {
  return {
    id: textOf(id),
    message: messageOf(message, maxLength),
    author: personOf(author?.name),
    authorLogin: personOf(author?.username),
    url: urlOf(url),
    timestamp: lineOf(timestamp),
  };
}

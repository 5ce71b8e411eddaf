import type { IntegrationType } from '../integrations/model.ts';
import { cutLine, cutText } from '../lib/text.ts';
import { parseTime } from '../lib/time.ts';
import { isRecord } from '../lib/validation.ts';
import type { PullRequestData } from '../providers/github/events/pull-request.ts';
import type { PushData } from '../providers/github/events/push.ts';
import type { ReleaseData } from '../providers/github/events/release.ts';
import type { LinearIssueData } from '../providers/linear/events/issue.ts';
import type { LinearProjectData } from '../providers/linear/events/project.ts';
import type { ProjectUpdateData } from '../providers/linear/events/update.ts';
import type { EventSource, ShippedEvent } from './model.ts';

/** A delivery that was processed, now or, in the log, long ago. */
export interface ProcessedDelivery extends EventSource {
  /** `owner/name`. */
  repository: string | null;
  deliveryId: string;
  receivedAt: string;
  /** By the provider's name for it. */
  event: string;
  action: string;
  data: unknown;
}

type Told = Omit<ShippedEvent, 'repository' | 'deliveryId' | 'occurredAt'> & {
  /** The times that may say when it happened, the best first. */
  times: (string | null | undefined)[];
};

const MAX_SUBJECT_LENGTH = 300;
const MAX_NOTE_LENGTH = 500;

const BREAKING = /^BREAKING[ -]CHANGE:/;
/** A footer (`Refs: #3`), a heading, a comment. */
const NO_NOTE = /^(?:[A-Za-z][A-Za-z-]{0,40}(?:: | #\d)|BREAKING[ -]CHANGE:|#{1,6} |<!--)/;
const MERGE = /^Merge pull request #\d{1,9} from \S{1,300}\s*$/;

/** What GitHub's button "Generate release notes" writes when there were no pull requests. */
const NO_NOTES = /^\s{0,10}(?:<!--[^<>]{0,500}-->\s{0,10})?\*\*Full Changelog\*\*: \S{1,500}\s{0,10}$/;

/**
 * What a processed delivery says was shipped; null where it tells of nothing that drafts are made from, such as a
 * star. Reads what the log holds, so that a delivery can be run again: what an older version wrote lacks some fields.
 */
export function toEvent(delivery: ProcessedDelivery): ShippedEvent | null {
  const { integrationType, event: name, action, data } = delivery;
  const reader = Object.hasOwn(readers[integrationType], name) ? readers[integrationType][name] : undefined;
  if (reader === undefined || !isRecord(data)) return null;
  const { times, ...event } = reader(data as never, action);
  return {
    ...event,
    repository: delivery.repository,
    deliveryId: delivery.deliveryId,
    occurredAt: firstTime(...times, delivery.receivedAt),
  } as ShippedEvent;
}

const readers: Record<IntegrationType, Record<string, (data: never, action: string) => Told>> = {
  github: { push: readPush, pull_request: readPullRequest, release: readRelease },
  linear: {
    Issue: readIssue,
    Project: readProject,
    ProjectUpdate: readProjectUpdate,
    InitiativeUpdate: readProjectUpdate,
  },
};

function readPush(push: PushData): Told {
  const head = push.commits.at(-1);
  // A clock may be wrong, and a push may be kept from long ago; but no push is older than its newest commit.
  const times = [push.pushedAt, head?.timestamp].flatMap((time) => isoTime(time) ?? []).sort();
  const after = push.after ?? head?.id ?? '';
  return {
    type: 'push',
    key: after,
    branch: push.branch,
    times: times.reverse(),
    version: '',
    data: {
      after,
      compareUrl: push.compareUrl,
      commits: push.commits.map(({ id, message, author, authorLogin, url }) => ({
        sha: id,
        subject: cutLine(subjectOf(message), MAX_SUBJECT_LENGTH),
        breaking: breakingNote(message),
        author: authorLogin ?? author,
        url,
      })),
    },
  };
}

function readPullRequest(pull: PullRequestData): Told {
  return {
    type: 'pull_request',
    key: String(pull.number),
    branch: pull.baseBranch ?? pull.defaultBranch ?? '',
    times: [pull.mergedAt],
    version: versionOf(pull.updatedAt),
    data: {
      number: pull.number,
      title: cutLine(pull.title, MAX_SUBJECT_LENGTH),
      breaking: breakingNote(pull.body ?? ''),
      labels: pull.labels,
      author: pull.author,
      isDefaultBranch:
        pull.baseBranch === null || pull.defaultBranch === null
          ? null
          : pull.baseBranch === pull.defaultBranch,
      mergeCommitSha: pull.mergeCommitSha,
      url: pull.url,
    },
  };
}

function readRelease(release: ReleaseData, action: string): Told {
  return {
    type: 'release',
    key: release.tagName,
    branch: branchOfRelease(release),
    times: [release.publishedAt],
    version: versionOf(release.updatedAt, action === 'edited' ? 1 : 0),
    data: {
      tag: release.tagName,
      name: release.name,
      notes: NO_NOTES.test(release.body ?? '') ? null : release.body,
      isPrerelease: release.isPrerelease,
      author: release.author,
      url: release.url,
    },
  };
}

/** A tag that was put on a commit says nothing of its branch. What an older version logged lacks the default one. */
function branchOfRelease({ targetBranch, defaultBranch }: ReleaseData): string {
  const isBranch = targetBranch !== null && !/^[0-9a-f]{40}$/.test(targetBranch);
  return (isBranch ? targetBranch : defaultBranch) ?? targetBranch ?? '';
}

function readIssue(issue: LinearIssueData, action: string): Told {
  const isRemoved = action === 'removed';
  return {
    type: 'issue',
    key: issue.id,
    branch: null,
    times: [issue.completedAt],
    version: versionOf(issue.updatedAt, isRemoved ? 1 : 0),
    data: {
      id: issue.id,
      identifier: issue.identifier,
      title: cutLine(issue.title, MAX_SUBJECT_LENGTH),
      labels: issue.labels,
      team: issue.team,
      project: issue.project,
      author: issue.assignee ?? issue.actor,
      url: issue.url,
      isCompleted: issue.state.type === 'completed' && !isRemoved,
    },
  };
}

function readProject(project: LinearProjectData, action: string): Told {
  const isRemoved = action === 'removed';
  return {
    type: 'project',
    key: project.id,
    branch: null,
    times: [project.completedAt],
    version: versionOf(project.updatedAt, isRemoved ? 1 : 0),
    data: {
      id: project.id,
      name: project.name,
      summary: project.content ?? project.description,
      author: project.lead,
      url: project.url,
      isCompleted: project.status?.type === 'completed' && !isRemoved,
    },
  };
}

function readProjectUpdate({ id, about, body, health, author, url, createdAt }: ProjectUpdateData): Told {
  return {
    type: 'project_update',
    key: id,
    branch: null,
    times: [createdAt],
    version: '',
    data: { id, about, body, health, author, url },
  };
}

/** The first line of a message; of the merge of a pull request, its title too, which stands below. */
function subjectOf(message: string): string {
  const [subject = '', ...body] = message.trimStart().split('\n');
  const title = MERGE.test(subject) ? body.find((line) => line.trim() !== '') : undefined;
  return title === undefined ? subject : `${subject.trimEnd()}: ${title}`;
}

/**
 * What a message or a description says after `BREAKING CHANGE:` (conventionalcommits.org, 16), to the end of the
 * paragraph or the next footer: such text is often wrapped, or stands below.
 */
function breakingNote(text: string): string | null {
  const lines = cutText(text, 50_000).split('\n');
  const start = lines.findIndex((line) => BREAKING.test(line));
  if (start === -1) return null;
  const said = [lines[start]?.replace(BREAKING, '') ?? '', ...lines.slice(start + 1)].map((line) =>
    line.trim(),
  );
  const from = said.findIndex((line) => line !== '');
  const paragraph = from === -1 ? [] : said.slice(from);
  const end = paragraph.findIndex((line) => line === '' || NO_NOTE.test(line));
  const note = paragraph.slice(0, end === -1 ? undefined : end).reduce(joinNote, '');
  return note === '' ? null : cutLine(note, MAX_NOTE_LENGTH);
}

/** The lines of a paragraph, or the items of a list, as one line. */
function joinNote(note: string, line: string): string {
  if (note.length > MAX_NOTE_LENGTH) return note;
  const item = line.replace(/^[-*] +/, '');
  return note === '' ? item : `${note}${item === line ? ' ' : '; '}${item}`;
}

/** Later edits sort after earlier ones; of those that say the same time, the higher rank does. */
function versionOf(updatedAt: string | null | undefined, rank = 0): string {
  return `${isoTime(updatedAt) ?? ''} ${rank}`;
}

function firstTime(...times: (string | null | undefined)[]): string {
  for (const time of times) {
    const iso = isoTime(time);
    if (iso !== null) return iso;
  }
  throw new Error('a delivery was received at no time');
}

function isoTime(time: string | null | undefined): string | null {
  return time ? (parseTime(time)?.toISOString() ?? null) : null;
}

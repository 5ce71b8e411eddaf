import { join } from 'node:path';
import type { Payload } from '../payloads.ts';
import { notesOf } from './notes.ts';
import {
  type CommitRow,
  PAGE,
  type PullRow,
  pullPayload,
  pushPayload,
  type ReleaseRow,
  releasePayload,
  shaOf,
} from './payloads.ts';

/** One GitHub delivery for each event. */
export interface MonthDelivery {
  event: 'push' | 'pull_request' | 'release';
  /** A name for tests: `push 3f1c0a9`, `#401`, `v2.4.0 edited`. */
  about: string;
  /** Follows from what it is about. */
  deliveryId: string;
  payload: Payload;
}

const START = Date.parse('2026-11-01T07:00:00Z');
/** From one thing to the next; an odd number, so that times of day differ. In milliseconds. */
const STEP_MS = 18_997_000;

type PullWithCommits = PullRow & { commits: string[] };

/**
 * A month of `acme/rocket` in the order in which it happened, from `history.txt`: a paragraph is a push, of a commit in
 * each line, or what its one word names: `#401` a pull request of `pull-requests.txt`, `= v2.4.0` a release.
 */
export async function monthOfDeliveries(): Promise<MonthDelivery[]> {
  const pulls = new Map((await readPulls()).map((pull) => [`#${pull.number}`, pull]));
  const paragraphs = (await readTable('history.txt')).split('\n\n');
  const deliveries: MonthDelivery[] = [];
  const merged: PullRow[] = [];
  let head = shaOf('the beginning');
  for (const [index, paragraph] of paragraphs.entries()) {
    const at = new Date(START + index * STEP_MS);
    const pull = pulls.get(paragraph);
    if (pull !== undefined) {
      const branch = pull.base;
      const push = pushPayload(commitsOfMerge(pull), {
        branch,
        at: secondsAfter(at, pull.number % 2),
        before: head,
      });
      deliveries.push(
        delivery('push', push),
        delivery('pull_request', pullPayload(pull, at, String(push.after))),
      );
      if (branch === 'main') head = String(push.after);
      merged.push(pull);
    } else if (paragraph.startsWith('= ')) {
      const tag = paragraph.slice(2);
      for (const told of releasesOf(tag, at, merged))
        deliveries.push(delivery('release', releasePayload(told)));
    } else {
      const push = pushPayload(paragraph.split('\n').map(toCommit), { branch: 'main', at, before: head });
      deliveries.push(delivery('push', push));
      head = String(push.after);
    }
  }
  return deliveries;
}

/** The release as it was published and, where it was edited, as it was three hours later. */
function releasesOf(tag: string, publishedAt: Date, merged: PullRow[]): ReleaseRow[] {
  const [published, ...edits] = notesOf(tag, merged);
  const release = { ...published, tag, publishedAt };
  return [
    { ...release, updatedAt: publishedAt, action: 'published' },
    ...edits.map(
      (edit): ReleaseRow => ({
        ...release,
        ...edit,
        updatedAt: secondsAfter(publishedAt, 10_800),
        action: 'edited',
      }),
    ),
  ];
}

/** Commits that a merge pushes to its base branch: squashed, rebased, or with a merge commit. */
function commitsOfMerge({ number, how, author, head, title, commits }: PullWithCommits): CommitRow[] {
  const own = commits.map((message) => ({ author, message }));
  if (how === 'squash') return [{ author, message: `${title} (#${number})\n\n* wip\n\n* more` }];
  const message = `Merge pull request #${number} from acme/${head}\n\n${title}`;
  return how === 'merge' ? [...own, { author: 'ann', message }] : own;
}

async function readPulls(): Promise<PullWithCommits[]> {
  const lines = (await readTable('pull-requests.txt')).split('\n');
  return lines.map((line) => {
    const [first = '', title = '', commits = ''] = line.split(' | ');
    const [number, how = '', author = '', head = '', labels = '-', base = '@main'] = first.split(' ');
    return {
      number: Number(number),
      how,
      author,
      head,
      base: base.slice(1),
      labels: labels === '-' ? [] : labels.split(','),
      title,
      body: BODIES[Number(number)] ?? null,
      commits: commits === '' ? [] : commits.split(' ; '),
    };
  });
}

const BODIES: Record<number, string> = {
  401: `## Why\r\n\r\nNeighbours.\r\n\r\nCloses #377, see ${PAGE}/issues/377`,
  412: 'Every error has a `type` now.\r\n\r\nBREAKING CHANGE: read `detail` where you read `message` before.\r\n',
  428: 'This PR contains the following updates:\r\n\r\n| Package | Change |\r\n|---|---|\r\n| a | `1` -> `2` |',
};

function toCommit(line: string): CommitRow {
  const [author = ''] = line.split(' ', 1);
  return { author, message: withEscapes(line.slice(author.length + 1)) };
}

function delivery(event: MonthDelivery['event'], payload: Payload): MonthDelivery {
  const { action, after, number, release } = payload as {
    [key: string]: unknown;
    release?: { tag_name: string };
  };
  const about =
    event === 'push'
      ? `push ${String(after).slice(0, 7)}`
      : event === 'release'
        ? `${release?.tag_name} ${action}`
        : `#${number}`;
  return { event, about, deliveryId: deliveryIdOf(about), payload };
}

/** A delivery id that follows from what it is about, in the form of GitHub's. */
export function deliveryIdOf(about: string): string {
  return shaOf('delivery', about).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, '$1-$2-$3-$4-$5');
}

function secondsAfter(time: Date, seconds: number): Date {
  return new Date(time.getTime() + seconds * 1000);
}

/** A line break within a message is written `\n` in the table, and a character that editors hide `\u{202e}`. */
function withEscapes(text: string): string {
  return text
    .replaceAll('\\n', '\n')
    .replaceAll(/\\u\{([0-9a-f]+)\}/g, (_, code) => String.fromCodePoint(Number.parseInt(code, 16)));
}

async function readTable(name: string): Promise<string> {
  return (await Bun.file(join(import.meta.dir, name)).text()).trim();
}

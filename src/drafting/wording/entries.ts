import type { ReadTx } from '../../../db/engine.ts';
import type { Post } from '../../posts/model.ts';
import type { Commit, Event, EventSource } from '../../providers/events.ts';
import type { WrittenBlock } from '../../providers/written.ts';
import type { Reference } from '../changes/groups.ts';
import { changeOfIssue } from '../changes/issues.ts';
import { changeOfCommit, changeOfPullRequest } from '../changes/reached.ts';
import { findEvents, findIssues } from '../events.ts';
import { inLink } from '../links.ts';
import { readPlaces } from '../roundups/make.ts';
import { findRoundupOfPost } from '../roundups/store.ts';
import { findDraftOfPost } from '../store.ts';
import { repositoryOf } from '../triggers/kinds/branch.ts';
import { findTrigger, kinds } from '../triggers/model.ts';
import { rangeReader } from '../triggers/range-store.ts';

// The entries of a draft, as lines of its Markdown, each with the texts of the events that it links to. A person may have changed
// the draft since.

/** A line that the assistant may word. Only its `words` change: the rest of the line stays by construction. */
export interface Entry {
  line: string;
  /** The bullet, "Breaking", and the scope. */
  lead: string;
  words: string;
  /** Its links. */
  tail: string;
  /** Not the words themselves. */
  sources: string[];
  isMarked: boolean;
  isFix: boolean;
}

/** Of one draft. */
const MAX_ENTRIES = 50;

/** Of the words, and of all sources of an entry, in characters. */
const MAX_WORDS = 1_000;
const MAX_SOURCES = 6_000;

const ITEM = /^([-*+] (?:\*\*[^*\n]{1,100}:\*\* )*)(\S.{7,2500})$/;
const REFERENCE = String.raw`(?:\[[^[\]\n]{1,200}\]\([^()\s]{1,2000}\)|[^()\s,]{1,200})`;
const TAIL = new RegExp(
  String.raw`(?: \(${REFERENCE}(?:, ${REFERENCE}){0,50}\)| by @[\w-]{1,39}(?:\[bot\])?(?: in https?:\/\/\S{1,2000})?)$`,
);
const MARK = /\*\*Breaking:\*\*|\b(?:breaking|security|vulnerabilit|CVE-\d|action required)/i;

/** The texts of a draft's events by the address of their page, or by their label. */
export type Sources = ReadonlyMap<string, readonly string[]>;

export function entriesOf(markdown: string, sources: Sources): Entry[] {
  const entries: Entry[] = [];
  const lines = markdown.split('\n');
  let heading = '';
  let isCode = false;
  for (const [at, line] of lines.entries()) {
    if (entries.length >= MAX_ENTRIES) break;
    if (/^ {0,3}(?:```|~~~)/.test(line)) isCode = !isCode;
    if (isCode) continue;
    heading = /^ {0,3}#{1,6} (.*)/.exec(line)?.[1] ?? heading;
    const [, lead, rest = ''] = ITEM.exec(line) ?? [];
    // An item of several lines is more than an entry.
    if (lead === undefined || /^[ \t]+\S/.test(lines[at + 1] ?? '')) continue;
    const tail = TAIL.exec(rest)?.[0] ?? '';
    const words = rest.slice(0, rest.length - tail.length).trimEnd();
    if (words.length === 0 || words.length > MAX_WORDS) continue;
    const named = new Set(line.match(/https?:\/\/[^\s()<>[\]]+|[#!]?[\w-]+/g));
    const texts = new Set([...sources].flatMap(([page, own]) => (named.has(page) ? own : [])));
    texts.delete(words);
    let room = MAX_SOURCES;
    const kept = [...texts].filter((text) => {
      room -= text.length;
      return room >= 0;
    });
    const isMarked = MARK.test(`${heading} ${lead}${words}`);
    entries.push({ line, lead, words, tail, sources: kept, isMarked, isFix: /\b(?:bug|fix)/i.test(heading) });
  }
  return entries;
}

/** The line with other words, in which nothing but emphasis and code is Markdown unless it was. */
export function withWords({ lead, words, tail }: Entry, text: string): string {
  const known = new Set(words.split(' '));
  const parts = text.split(/(`[^`]+`)/).map((part, at) => {
    if (at % 2 === 1) return part;
    const escaped = (token: string) =>
      known.has(token) || token.includes('://') ? token : token.replaceAll(/[\\<>[\]|~#&_$^{}]/g, '\\$&');
    return part.split(' ').map(escaped).join(' ');
  });
  const line = parts.join('');
  return lead + (words.endsWith('.') ? line : line.replace(/(?<!\.)\.$/, '')) + tail;
}

export interface Origin {
  /** The repositories and trackers that the events are of. */
  places: EventSource[];
  sources: Sources;
}

/** The events that a draft was made from; null for another post. `withIssues`: the texts of linked issues too. */
export async function readOrigin(
  tx: ReadTx,
  { id, organizationId }: Pick<Post, 'id'> & { organizationId: string },
  withIssues: boolean,
): Promise<Origin | null> {
  const found = (await readOfTrigger(tx, id)) ?? (await readOfRoundup(tx, id));
  if (found === null) return null;
  const texts = new Map<string, string[]>();
  const add = ([reference]: readonly Reference[], own: readonly (string | null | undefined)[]) => {
    if (reference === undefined) return;
    const page = reference.url === null ? reference.label : inLink(reference.url);
    const written = own.filter((text) => text != null && text !== '') as string[];
    texts.set(page, [...(texts.get(page) ?? []), ...written]);
  };
  const named = new Map<string, Reference[]>();
  const name = (identifiers: readonly string[] = [], references: Reference[]) => {
    for (const each of identifiers) named.set(each, [...(named.get(each) ?? []), ...references]);
  };
  for (const commit of found.commits) {
    const { references } = changeOfCommit(commit);
    add(references, textsOf(commit));
    name(commit.identifiers, references);
  }
  for (const event of found.events) {
    if (event.type === 'issue') add(changeOfIssue(event.data).references, [event.data.title]);
    if (event.type !== 'pull_request') continue;
    const { references } = changeOfPullRequest(event.data);
    const { title, breaking, blocks, mergeCommitSha } = event.data;
    const merge = found.commits.filter(({ sha }) => sha === mergeCommitSha);
    add(references, [title, breaking, ...blockTexts(blocks), ...merge.flatMap(textsOf)]);
    name(event.data.identifiers, references);
  }
  const issues = withIssues
    ? await findIssues(tx, organizationId, { identifiers: new Set(named.keys()), ids: new Set() })
    : [];
  for (const { data } of issues) {
    add(changeOfIssue(data).references, [data.title]);
    add(named.get(data.identifier) ?? [], [`${data.identifier} ${data.title}`]);
  }
  return { places: found.places, sources: texts };
}

const blockTexts = (blocks: readonly WrittenBlock[] = []) =>
  blocks.flatMap(({ entries }) => entries.map(({ text }) => text));

const textsOf = ({ subject, breaking, blocks, further = [] }: Commit) => [
  subject,
  breaking,
  ...further,
  ...blockTexts(blocks),
];

interface Found {
  places: EventSource[];
  commits: readonly Commit[];
  events: readonly Event[];
}

const commitsIn = (events: readonly Event[]) =>
  events.flatMap((event) => (event.type === 'push' ? event.data.commits : []));

async function readOfTrigger(tx: ReadTx, postId: string): Promise<Found | null> {
  const draft = await findDraftOfPost(tx, postId);
  const trigger = draft && (await findTrigger(tx, draft.triggerId));
  if (!draft || !trigger) return null;
  const repositoryId = kinds[trigger.event].isOfBranch ? repositoryOf(draft.scope) : null;
  const place = { integrationId: trigger.integrationId, repositoryId };
  const keysOf = (type: Event['type']) =>
    draft.eventKeys.flatMap((key) => (key.startsWith(`${type} `) ? key.slice(type.length + 1) : []));
  const ranges = await rangeReader(tx, place).read(keysOf('release'));
  const pushes = await findEvents(tx, place, 'push', keysOf('push'));
  const commits = [...[...ranges.values()].flat(), ...commitsIn(pushes)];
  // The range of a release names its pull requests by their commits alone.
  const numbers = commits.flatMap((each) =>
    changeOfCommit(each).references.flatMap(({ label }) => /^[#!](\d+)$/.exec(label)?.[1] ?? []),
  );
  const requests = await findEvents(tx, place, 'pull_request', [
    ...new Set([...keysOf('pull_request'), ...numbers]),
  ]);
  return {
    places: [place],
    commits,
    events: [...requests, ...(await findEvents(tx, place, 'issue', keysOf('issue')))],
  };
}

async function readOfRoundup(tx: ReadTx, postId: string): Promise<Found | null> {
  const roundup = await findRoundupOfPost(tx, postId);
  if (roundup === null) return null;
  const read = await readPlaces(tx, roundup.changes);
  const events = read.flatMap((each) => each.events);
  return { places: read.map(({ source }) => source), commits: commitsIn(events), events };
}

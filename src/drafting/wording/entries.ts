import type { ReadTx } from '../../../db/engine.ts';
import type { OwnedPost } from '../../posts/model.ts';
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
import { check, MAX_SOURCES, MAX_WORDS } from './check.ts';

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
  /** It cannot be checked, so it is not sent. */
  why: string | null;
}

/** Of one draft. */
const MAX_ENTRIES = 50;

const ITEM = /^([-*+] (?:\*\*[^*\n]{1,100}:\*\* )*)(\S.{7,2500})$/;
const REFERENCE = String.raw`(?:\[[^[\]\n]{1,200}\]\([^()\s]{1,2000}\)|[^()\s,]{1,200})`;
const TAIL = new RegExp(
  String.raw`(?: \(${REFERENCE}(?:, ${REFERENCE}){0,50}\)| by @[\w-]{1,39}(?:\[bot\])?(?: in https?:\/\/\S{1,2000})?)$`,
);
const MARK = /\*\*Breaking:\*\*|\b(?:breaking|security|vulnerabilit|CVE-\d|action required)/i;

/** `sources`: the texts of the draft's events by the address of their page, or by their label. */
export function entriesOf(markdown: string, sources: ReadonlyMap<string, readonly string[]>): Entry[] {
  const entries: Entry[] = [];
  const lines = markdown.split('\n');
  let heading = '';
  let isCode = false;
  for (const [at, line] of lines.entries()) {
    if (entries.length >= MAX_ENTRIES) break;
    if (/^ {0,3}(?:```|~~~)/.test(line)) isCode = !isCode;
    heading = /^ {0,3}#{1,6} (.*)/.exec(line)?.[1] ?? heading;
    const [, lead, rest = ''] = ITEM.exec(line) ?? [];
    // An item of several lines is more than an entry.
    if (isCode || lead === undefined || /^[ \t]+\S/.test(lines[at + 1] ?? '')) continue;
    const tail = TAIL.exec(rest)?.[0] ?? '';
    const words = rest.slice(0, rest.length - tail.length).trimEnd();
    if (words.length === 0 || words.length > MAX_WORDS) continue;
    const pages = new Set(line.match(/https?:\/\/[^\s()<>[\]]+|[#!]?[\w-]+/g));
    const texts = new Set([...pages].flatMap((page) => sources.get(page) ?? []));
    texts.delete(words);
    let room = MAX_SOURCES;
    const kept = [...texts].filter((text) => {
      room -= text.length;
      return room >= 0;
    });
    const isMarked = MARK.test(`${heading} ${lead}${words}`);
    const why = check({ sources: kept, original: words, rewritten: words, isMarked });
    entries.push({ line, lead, words, tail, sources: kept, isMarked, why });
  }
  return entries;
}

export interface Origin {
  /** The repositories and trackers that the events are of. */
  places: EventSource[];
  sources: ReadonlyMap<string, readonly string[]>;
}

/** The events that a draft was made from; null for another post. `withIssues`: the texts of linked issues too. */
export async function readOrigin(tx: ReadTx, post: OwnedPost, withIssues: boolean): Promise<Origin | null> {
  const found = (await readOfTrigger(tx, post.id)) ?? (await readOfRoundup(tx, post.id));
  if (found === null) return null;
  const sources = new Map<string, string[]>();
  const add = ([reference]: readonly Reference[], texts: readonly (string | null | undefined)[]) => {
    if (reference === undefined) return;
    const page = reference.url === null ? reference.label : inLink(reference.url);
    sources.set(page, [...(sources.get(page) ?? []), ...texts.flatMap((text) => text || [])]);
  };
  const naming = new Map<string, Reference[][]>();
  const name = (references: Reference[], identifiers: readonly string[] = []) => {
    for (const each of identifiers) naming.set(each, [...(naming.get(each) ?? []), references]);
  };
  for (const commit of found.commits) {
    const { references } = changeOfCommit(commit);
    add(references, textsOf(commit));
    name(references, commit.identifiers);
  }
  for (const { type, data } of found.events) {
    if (type === 'issue') add(changeOfIssue(data).references, [data.title]);
    if (type !== 'pull_request') continue;
    const { references } = changeOfPullRequest(data);
    const merge = found.commits.filter(({ sha }) => sha === data.mergeCommitSha);
    add(references, [data.title, data.breaking, ...blockTexts(data.blocks), ...merge.flatMap(textsOf)]);
    name(references, data.identifiers);
  }
  const wanted = { identifiers: new Set(withIssues ? naming.keys() : []), ids: new Set<string>() };
  for (const { data } of await findIssues(tx, post.organizationId, wanted)) {
    add(changeOfIssue(data).references, [data.title]);
    for (const references of naming.get(data.identifier) ?? [])
      add(references, [`${data.identifier} ${data.title}`]);
  }
  return { places: found.places, sources };
}

const blockTexts = (blocks: readonly WrittenBlock[] = []) =>
  blocks.flatMap(({ entries }) => entries.map(({ text }) => text));

const textsOf = ({ subject, breaking, blocks, further = [] }: Commit) => [
  ...[subject, breaking, ...further],
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
  const named = [...new Set([...keysOf('pull_request'), ...numbers])];
  const requests = await findEvents(tx, place, 'pull_request', named);
  const issues = await findEvents(tx, place, 'issue', keysOf('issue'));
  return { places: [place], commits, events: [...requests, ...issues] };
}

async function readOfRoundup(tx: ReadTx, postId: string): Promise<Found | null> {
  const roundup = await findRoundupOfPost(tx, postId);
  if (roundup === null) return null;
  const read = await readPlaces(tx, roundup.changes);
  const events = read.flatMap((each) => each.events);
  return { places: read.map(({ source }) => source), commits: commitsIn(events), events };
}

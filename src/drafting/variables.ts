import { cutGraphemes, toPlainText } from '../lib/markdown/plain-text.ts';
import { safeMarkdown } from '../lib/markdown/render.ts';
import { type Change, groupChanges, highlights, withoutRepetitions } from './changes/groups.ts';
import { changeOfIssue } from './changes/issues.ts';
import { changesOfNotes } from './changes/notes.ts';
import { changesOf } from './changes/reached.ts';
import { type EntryRules, findLabel } from './changes/rules.ts';
import { changeLine, compareUrl, repositoryUrl, versionOf } from './links.ts';
import type { Material, RoundupMaterial, Shipped } from './store.ts';

/** Keeps a changelog within the limit of a post, in characters. */
const MAX_LINES_LENGTH = 150_000;

/** Variables that the built-in templates read for every event, even if the sample lacks them. */
export const OPTIONAL_VARIABLES: readonly string[] = ['summary', 'compareUrl', 'url'];

/** The variables of templates, a function of the material. `variable-list.ts` describes them. */
export function variablesOf(
  material: Material,
  { changes: all, notes, sections }: Omit<Found, 'leftOut'> = changesIn(material),
): Record<string, unknown> {
  const { branch, isDefaultBranch, release, project, update, team, inProject, roundup } = material;
  const changes = withoutRepetitions(all);
  const { lines, omitted } = withLines(changes);
  const shown = highlights(changes, 5);
  const comparison = compareUrl(material);
  const text = notes ?? project?.data.summary ?? update?.data.body ?? null;
  return {
    repository: repositoryOf(material),
    branch,
    isDefaultBranch,
    release: release === null ? null : releaseOf(release, notes),
    changes: lines,
    groups: groupChanges(lines),
    omitted,
    highlights: shown.map((change) => ({ ...change, line: changeLine(change) })),
    moreCount: changes.length - shown.length,
    authors: [...new Set(changes.flatMap(({ authors }) => authors))],
    summary: text === null ? null : firstParagraph(text, release === null),
    team,
    project: project === null ? inProject : projectOf(project),
    update: update === null ? null : updateOf(update),
    compareUrl: comparison,
    url: release?.data.url ?? project?.data.url ?? update?.data.url ?? comparison ?? repositoryUrl(material),
    ...(roundup && { roundup: { name: roundup.name, date: roundup.date }, sections: linesOf(sections) }),
  };
}

interface Found extends ReturnType<typeof changesOf> {
  notes: string | null;
  /** Of a roundup. */
  sections: Section[];
}

interface Section {
  name: string;
  /** The repository's page. */
  url: string | null;
  changes: Change[];
}

/**
 * The changes that arrived or, without any, those that the release notes list, and what the rules leave out. A release that
 * closes a draft keeps its changes. `notes`: those of the release, safe to show; null without any.
 */
export function changesIn(
  { pushes, pullRequests, issues, linked, release, roundup }: Material,
  rules: EntryRules = {},
): Found {
  if (roundup !== undefined) return changesOfSections(roundup, rules);
  const { changes, leftOut } = changesOf({ pushes, pullRequests, linked }, rules);
  const arrived = [...changes];
  for (const { data } of issues) {
    const reason = findLabel(data.labels, rules);
    const { identifier: label, url, title } = data;
    if (reason === null) arrived.push(changeOfIssue(data));
    else leftOut.push({ title, reference: { label, url }, reason });
  }
  const notes = safe(release?.data.notes);
  const isOfNotes = arrived.length === 0 && leftOut.length === 0 && notes !== null;
  return { changes: isOfNotes ? changesOfNotes(notes) : arrived, leftOut, notes, sections: [] };
}

/** An issue that a change of a repository names is no change of its own. Over several repositories, references name theirs. */
function changesOfSections({ sections }: RoundupMaterial, rules: EntryRules): Found {
  const found = sections.map(({ name, material }) => ({ name, material, ...changesIn(material, rules) }));
  const ofCode = found.filter(({ material }) => material.repository !== null);
  const labels = ofCode.flatMap(({ changes }) => changes.flatMap((change) => labelsOf(change)));
  const known = new Set(labels);
  const listed = found.flatMap(({ name, material, changes: all }): Section[] => {
    const isNew = (change: Change) => !labelsOf(change).some((label) => known.has(label));
    const changes = material.repository === null ? all.filter(isNew) : all;
    return changes.length === 0 ? [] : [{ name, url: repositoryUrl(material), changes }];
  });
  const changes =
    listed.length === 1
      ? listed.flatMap((section) => section.changes)
      : listed.flatMap(({ name, changes }) => changes.map((change) => withRepository(change, name)));
  return { changes, leftOut: found.flatMap(({ leftOut }) => leftOut), notes: null, sections: listed };
}

const labelsOf = ({ references }: Change) => references.map(({ label }) => label);

/** `rocket#12` for `#12`, and `rocket@c02f9a6` for a commit. Identifiers of issues stay. */
function withRepository(change: Change, fullName: string): Change {
  const name = fullName.slice(fullName.lastIndexOf('/') + 1);
  const labelIn = (label: string) => {
    if (/^[#!]\d/.test(label)) return name + label;
    return /^[0-9a-f]{7}$/.test(label) ? `${name}@${label}` : label;
  };
  return {
    ...change,
    references: change.references.map(({ label, url }) => ({ label: labelIn(label), url })),
  };
}

/** As many changes as fit in all. */
function linesOf(sections: readonly Section[]) {
  let room = MAX_LINES_LENGTH;
  return sections.map(({ name, url, changes }) => {
    const { lines, omitted } = withLines(withoutRepetitions(changes), room);
    room -= lines.reduce((length, { line }) => length + line.length, 0);
    return { name, url, groups: groupChanges(lines), omitted };
  });
}

/** As many changes as fit with their Markdown, and how many do not. */
function withLines(
  changes: readonly Change[],
  room = MAX_LINES_LENGTH,
): { lines: (Change & { line: string })[]; omitted: number } {
  const lines: (Change & { line: string })[] = [];
  let length = 0;
  for (const change of changes) {
    const line = changeLine(change);
    length += line.length;
    if (length > room) break;
    lines.push({ ...change, line });
  }
  return { lines, omitted: changes.length - lines.length };
}

function safe(markdown: string | null | undefined): string | null {
  return markdown == null ? null : safeMarkdown(markdown);
}

function repositoryOf(material: Material) {
  const { repository } = material;
  if (repository === null) return null;
  // An owner may be a group in another: `group/subgroup/name`.
  const slash = repository.lastIndexOf('/');
  const [owner, name] = [repository.slice(0, slash), repository.slice(slash + 1)];
  return { fullName: repository, owner, name, url: repositoryUrl(material) };
}

function releaseOf({ data, occurredAt }: Shipped<'release'>, notes: string | null) {
  const { tag, name, isPrerelease, author, url } = data;
  return {
    name: name ?? tag,
    isNamed: name !== null && name !== tag,
    tag,
    version: versionOf(tag),
    notes,
    isPrerelease,
    author,
    url,
    publishedAt: occurredAt,
  };
}

function projectOf({ data }: Shipped<'project'>) {
  const { id, name, summary, author, url } = data;
  return { id, name, summary: safe(summary), author, url };
}

const HEALTH: Partial<Record<string, string>> = {
  onTrack: 'On track',
  atRisk: 'At risk',
  offTrack: 'Off track',
};

function updateOf({ data }: Shipped<'project_update'>) {
  const { about, body, health, author, url } = data;
  return { about, body: safe(body), health: HEALTH[health ?? ''] ?? health, author, url };
}

const LIST_ITEM = /^\s{0,3}(?:[-*+•]|\d{1,9}[.)])\s+/;

/** The first paragraph without headings, and without lists unless it takes them, as plain text of one line. */
function firstParagraph(markdown: string, takesLists: boolean): string | null {
  const found = markdown
    .slice(0, 20_000)
    .split(/\n[ \t]*\n/)
    .map((paragraph) => paragraph.split('\n').filter((line) => !/^ {0,3}#{1,6}(?:\s|$)/.test(line)))
    .find((lines) => lines.some((line) => line.trim() !== ''));
  if (found === undefined || found[0]?.startsWith('**Full Changelog**')) return null;
  const list = found.findIndex((line) => LIST_ITEM.test(line));
  const taken = takesLists || list === -1 ? found : found.slice(0, list);
  const text = toPlainText(taken.join('\n')).split('\n').reduce(joinLine, '').trim();
  return text === '' ? null : cutGraphemes(text, 700);
}

function joinLine(text: string, line: string): string {
  const words = line.replace(LIST_ITEM, '').trim();
  const isItem = LIST_ITEM.test(line) && text !== '' && !text.endsWith(':');
  return `${text}${isItem ? ';' : ''} ${words}`.trimEnd();
}

import { isRecord } from '../lib/app-error.ts';
import { cutGraphemes, toPlainText } from '../lib/markdown/plain-text.ts';
import { safeMarkdown } from '../lib/markdown/render.ts';
import { cutLine } from '../lib/text.ts';
import type { EventType } from '../providers/events.ts';
import { type Change, groupChanges, highlights, withoutRepetitions } from './changes/groups.ts';
import { changeOfIssue } from './changes/issues.ts';
import { changesOfNotes } from './changes/notes.ts';
import { changesOf } from './changes/reached.ts';
import { changeLine, compareUrl, repositoryUrl, versionOf } from './links.ts';
import type { Material, Shipped } from './store.ts';
import { sampleMaterial } from './template.ts';

/** Keeps a changelog within the limit of a post, in characters. */
const MAX_LINES_LENGTH = 150_000;

/** Variables that the built-in templates read for every event, even if the sample lacks them. */
export const OPTIONAL_VARIABLES: readonly string[] = ['summary', 'compareUrl', 'url'];

/** The variables of templates, a function of the material. `variable-list.ts` describes them. */
export function variablesOf(material: Material): Record<string, unknown> {
  const { branch, isDefaultBranch, release, project, update, team, inProject } = material;
  const notes = safe(release?.data.notes);
  const changes = withoutRepetitions(allChanges(material, notes));
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
  };
}

/** The changes that arrived or, without any, those that the release notes list. A release that closes a draft keeps its changes. */
function allChanges({ pushes, pullRequests, issues, linked }: Material, notes: string | null): Change[] {
  const arrived = [
    ...changesOf({ pushes, pullRequests, linked }),
    ...issues.map(({ data }) => changeOfIssue(data)),
  ];
  return arrived.length > 0 || notes === null ? arrived : changesOfNotes(notes);
}

/** As many changes as fit with their Markdown, and how many do not. */
function withLines(changes: readonly Change[]): { lines: (Change & { line: string })[]; omitted: number } {
  const lines: (Change & { line: string })[] = [];
  let length = 0;
  for (const change of changes) {
    const line = changeLine(change);
    length += line.length;
    if (length > MAX_LINES_LENGTH) break;
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

/** A variable of templates, to look up and to insert. */
export interface TemplateVariable {
  /** Such as `release.name`; of an element of a list, `change.text`. */
  name: string;
  description: string;
  /** Its value in the sample. */
  example: string;
  /** Liquid that writes it. */
  insert: string;
}

const ofChange = {
  text: 'The change in one line, as plain text',
  scope: 'The scope of a Conventional Commit',
  group: 'The name of its group',
  isBreaking: 'True for a breaking change',
  breakingNote: 'The breaking change, in one line',
  references: 'Its pull requests, issues and commits, each with label and url',
  authors: 'Its authors',
  line: 'The whole change, as a line of Markdown',
};

const descriptions: Readonly<Record<string, string>> = {
  'repository.fullName': 'Owner and name of the repository',
  'repository.owner': 'Owner of the repository',
  'repository.name': 'Name of the repository',
  'repository.url': 'Address of the repository',
  branch: 'Branch of the draft',
  isDefaultBranch: 'True if the branch is the default branch',
  'release.name': 'Name of the release, or its tag',
  'release.isNamed': 'True if the name differs from the tag',
  'release.tag': 'Tag of the release',
  'release.version': 'Version in the tag',
  'release.notes': 'Release notes, in Markdown',
  'release.isPrerelease': 'True for a pre-release',
  'release.author': 'Author of the release',
  'release.url': 'Page of the release',
  'release.publishedAt': 'Time of the release; format it with date',
  groups: 'Changes by group, such as Added and Fixed',
  'group.name': 'Name of the group',
  'group.changes': 'Changes of the group',
  changes: 'All changes',
  ...Object.fromEntries(Object.entries(ofChange).map(([name, text]) => [`change.${name}`, text])),
  omitted: 'Number of changes that do not fit into a post',
  highlights: 'The five changes that matter most',
  moreCount: 'Number of changes that are not highlights',
  authors: 'Everybody who worked on the changes',
  summary: 'First paragraph of the notes, the project or the update, as plain text',
  'team.id': 'ID of the team',
  'team.name': 'Name of the team',
  'team.key': 'Key of the team, such as ENG',
  'project.id': 'ID of the project',
  'project.name': 'Name of the project',
  'project.summary': 'Summary of the project, in Markdown',
  'project.author': 'Person who completed the project',
  'project.url': 'Page of the project',
  'update.about.kind': 'Project or initiative',
  'update.about.id': 'ID of the project or initiative',
  'update.about.name': 'Name of the project or initiative',
  'update.about.url': 'Page of the project or initiative',
  'update.body': 'Text of the update, in Markdown',
  'update.health': 'On track, At risk or Off track',
  'update.author': 'Author of the update',
  'update.url': 'Page of the update',
  compareUrl: 'Page of all changes since the last release',
  url: 'Link to more',
};

/** The name of an element in a loop over a list. */
const elements: Readonly<Record<string, string>> = {
  groups: 'group',
  'group.changes': 'change',
  changes: 'change',
  highlights: 'change',
  'change.references': 'reference',
};

/** How a loop writes an element. */
const writes: Readonly<Record<string, string>> = {
  group: '### {{ group.name }}',
  change: '- {{ change.line }}',
  reference: '{{ reference.label }}',
};

/** Without a change, an event never has these. */
const ofChanges = ['changes', 'groups', 'omitted', 'highlights', 'moreCount', 'authors'];

const lists = new Map<EventType, TemplateVariable[]>();

/** The variables that the event has, with examples of a sample event. */
export function listVariables(event: EventType): TemplateVariable[] {
  const known = lists.get(event);
  if (known !== undefined) return known;
  const sample = variablesOf(sampleMaterial(event));
  const isEmpty = Array.isArray(sample.changes) && sample.changes.length === 0;
  const list = Object.entries(sample)
    .filter(([name, value]) => value !== null || OPTIONAL_VARIABLES.includes(name))
    .filter(([name]) => !(isEmpty && ofChanges.includes(name)))
    .filter(([name]) => name !== 'isDefaultBranch' || sample.branch !== null)
    .flatMap(([name, value]) => entriesOf(name, value));
  lists.set(event, list);
  return list;
}

function entriesOf(path: string, value: unknown): TemplateVariable[] {
  if (isRecord(value)) {
    return Object.entries(value).flatMap(([name, part]) => entriesOf(`${path}.${name}`, part));
  }
  const own: TemplateVariable = {
    name: path,
    description: descriptions[path] ?? '',
    example: exampleOf(value),
    insert: insertOf(path, value),
  };
  const isDescribed = path === 'groups' || path === 'changes';
  const first = Array.isArray(value) && isDescribed ? value[0] : undefined;
  return [own, ...(isRecord(first) ? entriesOf(elements[path] ?? path, first) : [])];
}

function insertOf(path: string, value: unknown): string {
  const element = elements[path];
  if (element !== undefined) {
    return `{% for ${element} in ${path} %}${writes[element]}\n{% endfor %}`;
  }
  if (typeof value === 'boolean') return `{% if ${path} %}{% endif %}`;
  return Array.isArray(value) ? `{{ ${path} | join: ", " }}` : `{{ ${path} }}`;
}

function exampleOf(value: unknown): string {
  if (value === null || value === '') return '';
  if (!Array.isArray(value)) return cutLine(String(value), 80);
  return cutLine(
    value.map((each) => (isRecord(each) ? (each.label ?? each.name ?? each.text) : each)).join(', '),
    80,
  );
}

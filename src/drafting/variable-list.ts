import { cutLine } from '../lib/text.ts';
import { isRecord } from '../lib/validation.ts';
import type { EventType } from '../providers/events.ts';
import { sampleMaterial } from './check.ts';
import { OPTIONAL_VARIABLES, variablesOf } from './variables.ts';

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

import { basename } from 'node:path';
import { AppError } from '../../lib/app-error.ts';
import { definitionsIn, withDefinitions } from '../../lib/markdown/outline.ts';
import { labelsIn, readBlocks, type SyntaxNode } from '../../lib/markdown/parse.ts';
import { cutLine } from '../../lib/text.ts';
import { turns } from '../../lib/time.ts';
import type { Post } from '../model.ts';
import { isExportedChangelog, parseExportedChangelog } from './exported-changelog.ts';
import {
  countLines,
  FRONT_MATTER,
  importError,
  lineAt,
  MAX_PROBLEMS,
  type ParsedFile,
  readStatus,
  type SourceFile,
  timesApart,
} from './files.ts';
import {
  type FoundDate,
  findDate,
  isUnreleasedMark,
  MAX_HEADING,
  plainText,
  readHeading,
  type VersionHeading,
  wordsOf,
} from './version-heading.ts';

// The most common form of headings is found first. Then each of that form is a version, a problem, a mark, or text.

/** A heading of Markdown, or a line that may serve as one. */
interface Heading {
  form: 'heading' | 'bold' | 'line' | 'item';
  level: number;
  from: number;
  to: number;
  markdown: string;
  version: VersionHeading | null;
  isUnreleased: boolean;
  outerDate?: FoundDate | null;
}

type Version = Heading & { version: VersionHeading };

/** A heading and the text below it. `reason`: why it is no post. */
interface Section {
  heading: Heading | null;
  version: VersionHeading | null;
  date: FoundDate | null;
  reason: string;
  from: number;
  to: number;
  body: string;
}

const NOT_RELEASED = 'not released';
const NO_TEXT = 'no text of its own';
const GROUP = 'above other versions';
const UNREADABLE = 'no version';
const BEGINNING = /^[^\p{L}\p{N}]*(?:v\.? ?)?\d+\.[\dx]/iu;

/** Lines below a heading that may have its date. */
const DATE_LINES = 3;

/** A longer line is no heading unless Markdown says so. */
const MAX_LINE = 150;
const MAY_BE_HEADING =
  /\d\.\d|\d{4}-\d\d|\bv\d|\b(?:unreleased|head|main|master|next|upcoming|dev|tb[acd])\b/i;

/** True for the names of changelogs; the text tells about the names that are `'maybe'`. */
export function isChangelogName(name: string): boolean | 'maybe' {
  const base = basename(name);
  if (/^(?:changelog|change[-_ ]?log|changes|history|release[-_ ]?notes)(?![a-z])/i.test(base)) return true;
  return (
    /(?<![a-z])(?:news|releases?|what'?s[-_ ]?new|change[-_]?log|updates)(?![a-z])/i.test(base) && 'maybe'
  );
}

/** A post per version, newest first. One without a date has no `createdAt`; those of one day are 1 ms apart. */
export async function parseChangelog({ name, text: given }: SourceFile): Promise<ParsedFile> {
  if (isExportedChangelog(given)) return parseExportedChangelog(given);
  const [matter = ''] = FRONT_MATTER.exec(given) ?? [];
  let status: Post['status'] | undefined;
  try {
    status = readStatus({ name, text: given });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { records: [], skipped: [], problems: [error] };
  }
  // The lines keep their numbers.
  const { source: text, blocks } = await readBlocks(
    matter.replaceAll(/[^\n]/g, ' ') + given.slice(matter.length),
  );
  const file = { name, text };
  const turn = turns();
  const all: Heading[] = [];
  for (const block of blocks) {
    await turn();
    for (const heading of headingsOf(block, text)) all.push(heading);
  }
  const found = withOuter(all);
  const form = formOf(found);
  if (form === null) return { records: [], skipped: [] };
  const sections = sectionsOf(found, text, form);
  await fillBodies(sections, blocks, text);
  const read = await readSections(file, sections);
  if (matter !== '') read.skipped.unshift('front matter (line 1: above the first version)');
  read.problems.unshift(...hiddenVersions(file, blocks, form).take(MAX_PROBLEMS));
  const { records, skipped, problems } = read;
  if (status === 'draft') for (const { fields } of records) fields.status = status;
  const headings = records.length + skipped.length + problems.length;
  return { records, skipped, headings, problems: problems.slice(0, MAX_PROBLEMS) };
}

/** The underline of a heading, after its line. */
const UNDERLINE = /^\n {0,3}([=-])\1+[ \t]*(?=\n|$)/;

function* headingsOf({ name, from, to }: SyntaxNode, text: string): Generator<Heading> {
  const [, kind, level] = /^(ATX|Setext)Heading(\d)$/.exec(name) ?? [];
  if (kind !== undefined) {
    // Of several lines that are underlined, the last one.
    const start = kind === 'ATX' ? from : text.lastIndexOf('\n', text.lastIndexOf('\n', to - 1) - 1) + 1;
    const begin = Math.max(from, start);
    const line = (text.slice(begin, to).split('\n', 1)[0] ?? '').trim();
    const markdown = kind === 'ATX' ? line.replace(/^#+\s*/, '').replace(/(?<![\s#])\s+#+$/, '') : line;
    yield headingOf({ form: 'heading', level: Number(level), from: begin, to, markdown });
    return;
  }
  if (name !== 'Paragraph' && !name.endsWith('List')) return;
  for (let at = from; at < to; ) {
    const newline = text.indexOf('\n', at);
    const end = newline === -1 || newline > to ? to : newline;
    const line = end - at > MAX_LINE ? '' : text.slice(at, end).trimEnd();
    if (/^[^\s|]/.test(line) && MAY_BE_HEADING.test(line)) {
      const [, marks = ''] = /^(#{1,6})(?=[^#])/.exec(line) ?? [];
      const [, bullet = ''] = /^([*+-]\s+)/.exec(line) ?? [];
      const [underline, mark = ''] =
        marks === '' ? (UNDERLINE.exec(text.slice(end, end + MAX_LINE)) ?? []) : [];
      if (underline !== undefined) {
        // Without an empty line above them, Markdown adds both lines to the text of the list.
        const level = mark === '=' ? 1 : 2;
        const under = headingOf({
          form: 'heading',
          level,
          from: at,
          to: end + underline.length,
          markdown: line,
        });
        if (under.version !== null || under.isUnreleased) yield under;
        at = end + underline.length + 1;
        continue;
      }
      const form =
        marks !== '' ? 'heading' : bullet !== '' ? 'item' : /^(?:\*\*|__)/.test(line) ? 'bold' : 'line';
      const markdown = line.slice(marks.length + bullet.length);
      const heading = headingOf({ form, level: marks.length, from: at, to: end, markdown });
      const { version } = heading;
      // A sentence may begin with a version; a line by itself, without a period, is a heading.
      const isParagraph = name === 'Paragraph' && at === from && end === to;
      const isAlone = isParagraph && !/[.:]$/.test(line);
      const isClause = isParagraph && !line.endsWith('.');
      const isBare = version?.isBare === true && (version.packageName === '' || isClause || form !== 'line');
      if ((form === 'bold' || isAlone || isBare) && (version !== null || heading.isUnreleased)) yield heading;
    }
    at = end + 1;
  }
}

function headingOf(line: Omit<Heading, 'version' | 'isUnreleased'>): Heading {
  const markdown = line.markdown.slice(0, MAX_HEADING);
  const read = readHeading(markdown);
  // A line of a text may have a date, too.
  const version = read?.kind === 'title' && line.form !== 'heading' ? null : read;
  return { ...line, version, isUnreleased: version?.isUnreleased ?? isUnreleasedMark(plainText(markdown)) };
}

interface Form {
  form: Heading['form'];
  level: number;
  hasDates: boolean;
  packageNames: ReadonlySet<string>;
  /** Other levels that several versions have, as in conventional changelogs. */
  levels: ReadonlySet<number>;
}

/** Headings whose version can't be meant otherwise. */
function isClear({ version }: Heading): boolean {
  if (version === null || version.kind === 'series' || version.kind === 'title') return false;
  const { packageName, isBare, date, isUnreleased } = version;
  return packageName === '' || date !== null || isUnreleased || (isBare && !packageName.includes(' '));
}

const isDated = ({ version }: Heading) => version !== null && (version.date !== null || version.isUnreleased);

/** "pack@1.2.3" below "1.2.3" or "Unreleased", without a date of its own, is a part of that version: no version itself. */
function withOuter(headings: readonly Heading[]): Heading[] {
  const isWhole = ({ version }: Heading) => version?.kind === 'version' && version.packageName === '';
  const isOuter = (heading: Heading) => (isWhole(heading) && isClear(heading)) || heading.isUnreleased;
  const outers = Map.groupBy(headings.filter(isOuter), ({ level }) => level);
  // The title of the file may have a version, or be a word such as "Next".
  const hasParts = ({ level }: Heading) => {
    const others = outers.get(level) ?? [];
    return others.length > 1 && others.some(isWhole);
  };
  const above: Heading[] = [];
  return headings.map((heading) => {
    if (heading.form !== 'heading') return heading;
    while ((above.at(-1)?.level ?? 0) >= heading.level) above.pop();
    const isPart =
      (heading.version?.packageName ?? '') !== '' &&
      !isDated(heading) &&
      above.some((outer) => isOuter(outer) && hasParts(outer));
    const dated = above.findLast(({ version }) => version?.kind === 'date');
    above.push(heading);
    return {
      ...heading,
      outerDate: dated?.version?.date ?? null,
      version: isPart ? null : heading.version,
    };
  });
}

/** The form and the level of most versions, where one with a date counts twice; null without any version. */
function formOf(headings: readonly Heading[]): Form | null {
  const clear = headings.filter(isClear);
  const versions = clear.length > 0 ? clear : headings.filter(({ version }) => version !== null);
  const levels = Map.groupBy(versions, ({ form, level }) => `${form} ${level}`);
  const score = (group: readonly Heading[]) => group.length + group.filter(isDated).length;
  // The outermost level first.
  const groups = [...levels.values()].sort((one, other) => (one[0]?.level ?? 0) - (other[0]?.level ?? 0));
  const best = (among: readonly (readonly Heading[])[]) =>
    among.reduce<readonly Heading[]>((one, other) => (score(other) > score(one) ? other : one), []);
  const isHeading = ([first]: readonly Heading[]) => first?.form === 'heading';
  const ofHeadings = best(groups.filter(isHeading));
  const others = best(groups.filter((group) => !isHeading(group)));
  // Lists of versions occur in texts too.
  const group = score(others) > 2 * score(ofHeadings) ? others : ofHeadings;
  const [first] = group;
  if (first === undefined) return null;
  const form: Form = {
    form: first.form,
    level: first.level,
    hasDates: 2 * group.filter(isDated).length >= group.length,
    packageNames: new Set(group.map(({ version }) => version?.packageName ?? '')),
    levels: new Set(),
  };
  const counts = Map.groupBy(
    headings.filter((heading) => isVersion(heading, form)),
    ({ level }) => level,
  );
  return {
    ...form,
    levels: new Set([...counts].flatMap(([level, { length }]) => (length > 1 ? level : []))),
  };
}

/** At other levels only headings that are as complete as those of the file's level, unless several versions stand there. */
function isVersion(
  heading: Heading,
  { form, level, hasDates, packageNames, levels }: Form,
): heading is Version {
  const { version, markdown } = heading;
  if (version === null || heading.form !== form) return false;
  if (heading.level === level) {
    return isClear(heading) || version.kind !== 'version' || packageNames.has(version.packageName);
  }
  if (!isClear(heading) || version.kind !== 'version') return false;
  const isLinked = /^\[[^\]]+\]\(/.test(markdown) && version.links === '';
  const isWhole = version.isBare && /\.\d+\./.test(version.version);
  return hasDates ? isDated(heading) || isLinked || (isWhole && levels.has(heading.level)) : isWhole;
}

const beginsAsVersion = ({ form, version, markdown }: Heading) =>
  form === 'heading' &&
  version?.kind !== 'title' &&
  BEGINNING.test(plainText(markdown.slice(0, MAX_HEADING)));

function* hiddenVersions(file: SourceFile, blocks: readonly SyntaxNode[], form: Form): Generator<AppError> {
  if (form.form !== 'heading') return;
  const { text } = file;
  const heading = new RegExp(`^ {0,3}#{${form.level}}[ \\t]+(.{1,${MAX_LINE}})$`, 'gm');
  for (const block of blocks) {
    const { name, from, to } = block;
    const isOpen =
      (name === 'FencedCode' && block.getChildren('CodeMark').length < 2) ||
      (name === 'CommentBlock' && !text.slice(from, to).includes('-->'));
    if (name !== 'HTMLBlock' && !isOpen) continue;
    for (const { index, 1: markdown = '' } of text.slice(from, to).matchAll(heading)) {
      const line = headingOf({ form: 'heading', level: form.level, from, to, markdown });
      if (!isClear(line) || (form.hasDates && !isDated(line))) continue;
      const why =
        name === 'HTMLBlock'
          ? 'belongs to the HTML above it. Add a blank line between them'
          : `is inside ${name === 'FencedCode' ? 'code' : 'a comment'} that has no end. It begins in line ${lineAt(text, from)}`;
      yield importError(file, lineAt(text, from + index), `version ${line.version?.title} ${why}`);
    }
  }
}

/** Above the first and below the last one, versions may have another form or level. */
function cutsOf(headings: readonly Heading[], form: Form): boolean[] {
  const isLine = ({ form }: Pick<Heading, 'form'>) => form === 'line' || form === 'bold';
  const isCut = (heading: Heading, by: Form) =>
    isVersion(heading, by) ||
    (heading.isUnreleased &&
      heading.version === null &&
      (heading.form === by.form || (isLine(heading) && isLine(by) && /unreleased/i.test(heading.markdown))) &&
      heading.level <= by.level);
  const isUnreadable = (heading: Heading) =>
    heading.level === form.level && heading.version === null && beginsAsVersion(heading);
  const cuts = headings.map((heading) => isCut(heading, form) || isUnreadable(heading));
  const perLevel = Map.groupBy(headings, ({ level }) => level);
  for (const [index, heading] of headings.slice(0, Math.max(0, cuts.indexOf(true))).entries()) {
    const { version } = heading;
    if (version?.kind !== 'version' || !version.isBare || !isClear(heading)) continue;
    // The title of the file may have a version.
    const isTitle =
      heading.form === 'heading' && heading.level < form.level && perLevel.get(heading.level)?.length === 1;
    const isWhole = heading.form === 'heading' && /\.\d+\./.test(version.version);
    cuts[index] = heading.form !== 'item' && !isTitle && (isWhole || isDated(heading));
  }
  const end = cuts.lastIndexOf(true) + 1;
  const older = headings.slice(end).filter((each) => each.form === 'line' || each.form === 'bold');
  const olderForm = older.filter(isClear).length < 2 ? null : formOf(older);
  if (olderForm === null || (form.form === 'heading' && !olderForm.hasDates)) return cuts;
  return cuts.map((isOne, index) => isOne || (index >= end && isCut(headings[index] as Heading, olderForm)));
}

function sectionsOf(headings: readonly Heading[], text: string, form: Form): Section[] {
  const cuts = cutsOf(headings, form);
  // Headings above a group of versions, without a text of their own.
  const isGroup = headings.map(() => false);
  for (let index = headings.length - 2; index >= 0; index--) {
    const isEmpty = text.slice(headings[index]?.to, headings[index + 1]?.from).trim() === '';
    isGroup[index] = isEmpty && (cuts[index + 1] === true || isGroup[index + 1] === true);
  }
  const start = (heading: Heading | null, version: VersionHeading | null, reason: string): Section => ({
    heading,
    version,
    date: version?.date ?? null,
    reason,
    from: heading?.to ?? 0,
    to: text.length,
    body: '',
  });
  let current = start(null, null, 'above the first version');
  const sections = [current];
  for (const [index, heading] of headings.entries()) {
    const isHeading = heading.form === 'heading';
    const above = current.heading?.level ?? 0;
    const isSkipped = isHeading && current.version === null && heading.level <= (above || 6);
    const isOuter = isHeading && heading.level < form.level && beginsAsVersion(heading);
    const isGroupOf =
      isHeading && current.version !== null && ((heading.level <= above && isGroup[index]) || isOuter);
    if (cuts[index] !== true && !isSkipped && !isGroupOf) continue;
    current.to = heading.from;
    const { version, isUnreleased } = heading;
    const isPost =
      cuts[index] === true || (isOuter && isGroup[index] !== true && version?.kind === 'version');
    if (isPost) {
      const reason = isUnreleased ? NOT_RELEASED : UNREADABLE;
      current = start(heading, isUnreleased ? null : version, reason);
    } else {
      const reason = isGroup[index] === true ? NO_TEXT : GROUP;
      current = start(heading, null, isSkipped ? current.reason : reason);
    }
    sections.push(current);
  }
  for (const section of sections) {
    if (section.version === null || section.date !== null) continue;
    const { date, isUnreleased } = readFirstLines(text.slice(section.from, section.to).trimStart());
    section.date = date ?? section.heading?.outerDate ?? null;
    if (isUnreleased) {
      section.version = null;
      section.reason = NOT_RELEASED;
    }
  }
  return sections;
}

/** A link definition moves to the sections that use it. One that nothing uses, or that can't be moved, stays. */
async function fillBodies(sections: readonly Section[], blocks: readonly SyntaxNode[], text: string) {
  const turn = turns();
  const references = blocks.filter(({ name }) => /^(?:LinkReference|Footnote)$/.test(name));
  const definitions = definitionsIn(references, text);
  const used = new Set<string>();
  let start = 0;
  for (const { from, to } of [...references, { from: text.length, to: text.length }]) {
    await turn();
    for (const label of labelsIn(text.slice(start, from))) used.add(label);
    start = to;
  }
  let next = 0;
  for (const section of sections) {
    await turn();
    const labels = new Set(labelsIn(section.heading?.markdown ?? ''));
    let at = section.from;
    const addUntil = (end: number) => {
      for (const label of labelsIn(text.slice(at, end))) labels.add(label);
      section.body += text.slice(at, end);
    };
    for (; (references[next]?.from ?? section.to) < section.to; next++) {
      const { from, to } = references[next] as SyntaxNode;
      const definition = text.slice(from, to);
      const [label = ''] = labelsIn(definition);
      const first = definitions.get(label);
      addUntil(from);
      at = to;
      const isSame = first === undefined || first.text === definition;
      if (isSame && (first === undefined || !used.has(label))) section.body += definition;
      // Of two with one label, the first holds.
      else if (!isSame) section.body += `\\${definition}`;
    }
    addUntil(section.to);
    if (section.heading?.form === 'item') section.body = dedent(section.body);
    section.body = section.body.replace(/^\s*\n/, '').trimEnd();
    if (section.version === null) continue;
    if (section.version.links !== '') section.body = `${section.version.links}\n\n${section.body}`.trimEnd();
    section.body = withDefinitions(section.body, definitions, { labels });
  }
}

function dedent(body: string): string {
  const indents = Array.from(body.matchAll(/^ *(?=[^ \n])/gm), ([indent]) => indent.length);
  const shared = Math.min(...indents.slice(0, 1000), 4);
  return body.replaceAll(new RegExp(`^ {${shared}}`, 'gm'), '');
}

async function readSections(file: SourceFile, sections: readonly Section[]) {
  const turn = turns();
  const posts: { section: Section; version: VersionHeading; line: number }[] = [];
  const skipped: string[] = [];
  const unreadable: AppError[] = [];
  let at = 0;
  let line = 1;
  for (const section of sections) {
    await turn();
    const { heading, version, reason, body } = section;
    const from = heading?.from ?? 0;
    line += countLines(file.text, at, from);
    at = from;
    if (version !== null) posts.push({ section, version, line });
    else if (reason === UNREADABLE) {
      const words = cutLine(plainText(heading?.markdown ?? ''), 100);
      const what = `"${words}" begins as a version, but is none. Write it as "1.2.3 - 2026-01-31"`;
      unreadable.push(importError(file, line, what));
    } else if (heading !== null || body.trim() !== '') {
      const name = heading === null ? 'text' : `"${cutLine(plainText(heading.markdown), 100)}"`;
      skipped.push(`${name} (line ${line}: ${reason})`);
    }
  }

  const isDayFirst = orderOf(posts.map(({ section }) => section.date));
  const problems = unreadable;
  const records: ParsedFile['records'] = [];
  const timeOf = timesApart();
  const seen = new Map<string, number>();
  // Start with the oldest, so that a version added on top changes no other.
  for (const { section, version, line: number } of posts.reverse()) {
    await turn();
    const problem = problemOf(section, version, isDayFirst);
    if (problem !== null) {
      problems.unshift(importError(file, number, problem));
      continue;
    }
    const { title, packageName, version: name } = version;
    const key = packageName === '' ? name : `${packageName}@${name}`;
    const count = (seen.get(key) ?? 0) + 1;
    seen.set(key, count);
    const day = section.date?.days.at(isDayFirst === false ? -1 : 0);
    records.push({
      key: count === 1 ? key : `${key} ${count}`,
      lineOf: () => number,
      fields: {
        title,
        markdown: section.body,
        ...((version.kind === 'version' || version.kind === 'series') && {
          sourceMetadata: { version: name },
        }),
        ...(day !== undefined && { createdAt: timeOf(day) }),
      },
    });
  }
  return { records: records.reverse(), skipped, problems };
}

/** A mark in the first line below a heading, or a date that has one of the first lines for itself. */
function readFirstLines(body: string): { date: FoundDate | null; isUnreleased: boolean } {
  const lines = body.slice(0, MAX_LINE).split(/\n\s*/, DATE_LINES);
  const words = lines.map((line) =>
    plainText(line.replace(/^(?:[*+>-]|#+)\s+/, '')).replace(/^(?:release )?(?:date|status)\W+/i, ''),
  );
  for (const line of words) {
    const date = findDate(line);
    if (date !== null && wordsOf(line.slice(0, date.from) + line.slice(date.to)) === '') {
      return { date, isUnreleased: false };
    }
  }
  return { date: null, isUnreleased: isUnreleasedMark(words[0] ?? '') };
}

/** True if dates such as 03/04/2020 begin with the day; null if the other dates of the file do not show it. */
function orderOf(dates: readonly (FoundDate | null)[]): boolean | null {
  const orders = new Set(dates.flatMap((date) => date?.isDayFirst ?? []));
  const [isDayFirst = null] = orders;
  return orders.size === 1 ? isDayFirst : null;
}

function problemOf(
  { heading, date }: Section,
  { title }: VersionHeading,
  isDayFirst: boolean | null,
): string | null {
  if ((heading?.markdown.length ?? 0) > MAX_HEADING) {
    return `the heading of version ${cutLine(title, 50)} must have at most ${MAX_HEADING} characters`;
  }
  if (date?.days.length === 0) return `${date.text} is no date`;
  if (date?.days.length === 2 && isDayFirst === null) {
    const [one = '', other = ''] = date.days.map((day) => day.toISOString().slice(0, 10));
    return `${date.text} could be ${one} or ${other}. Write it in that form`;
  }
  return null;
}

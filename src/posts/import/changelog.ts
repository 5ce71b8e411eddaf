import { basename } from 'node:path';
import { parseTime } from '../../lib/time.ts';
import type { ParsedFile, RawRecord, SourceFile } from './files.ts';

// Changelogs in the form of keepachangelog.com, and its common variants.

const VERSION =
  /^(?:version\s+)?\[?(?:@?[\w./-]+@)?(v?\d+(?:\.\d+){1,3}(?:[-+.][0-9A-Za-z.+-]+)?)\]?(?:\([^)\s]*\)|\[[^\]]*\])?\s*(.*)$/i;
const UNRELEASED = /^\[?(unreleased|next|upcoming)\]?/i;
const ISO_DATE = /(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})/;
const WORDED_DATE =
  /\b(?:\d{1,2}(?:st|nd|rd|th)? )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (?:\d{1,2}(?:st|nd|rd|th)?,? )?\d{4}\b/i;
const DEFINITION = /^ {0,3}\[([^\]^][^\]]*)\]:\s*\S+.*$/;

interface Section {
  line: number;
  version: string;
  /** The heading after the version. */
  rest: string;
  body: string[];
}

/** CHANGELOG.md, HISTORY.md, CHANGES.md, RELEASES.md, and the like. */
export function isChangelogName(name: string): boolean {
  return /^(changelog|change-?log|changes|history|releases?|release-notes)\b/i.test(basename(name));
}

/**
 * Reads a post per version, in the order of the file, newest first. Skips unreleased changes. Versions of one day are a
 * millisecond apart, to keep their order. A version without a date has no `createdAt`.
 */
export function parseChangelog(file: SourceFile): ParsedFile {
  const { sections, definitions, hasUnreleased } = split(file.text);
  const perDay = new Map<string, number>();
  const records: RawRecord[] = [];
  // Start with the oldest, so that a version added on top changes no other.
  for (const { version, rest, body, line } of sections.toReversed()) {
    const date = dateOf(rest);
    const yanked = /\[yanked\]/i.test(rest);
    const createdAt = date === null ? undefined : new Date(date.getTime() + next(perDay, date.toISOString()));
    records.push({
      key: version.replace(/^v/i, ''),
      lineOf: () => line,
      fields: {
        title: yanked ? `${version} (yanked)` : version,
        markdown: withDefinitions(body.join('\n').trim(), definitions),
        sourceMetadata: { version: version.replace(/^v/i, '') },
        ...(createdAt === undefined ? {} : { createdAt: createdAt.toISOString() }),
      },
    });
  }
  return { records: records.reverse(), skipped: hasUnreleased ? ['what is not released yet'] : [] };
}

function split(text: string): {
  sections: Section[];
  definitions: Map<string, string>;
  hasUnreleased: boolean;
} {
  const sections: Section[] = [];
  const definitions = new Map<string, string>();
  let hasUnreleased = false;
  let current: Section | null = null;
  let fence: string | null = null;
  const lines = text.split('\n');

  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? '';
    const marker = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (marker !== undefined && (fence === null || marker.startsWith(fence)))
      fence = fence === null ? marker : null;
    if (fence === null) {
      const definition = DEFINITION.exec(line);
      if (definition !== null) {
        definitions.set((definition[1] ?? '').toLowerCase(), line.trim());
        continue;
      }
      const underlined = /^(={3,}|-{3,})\s*$/.test(lines[index + 1] ?? '');
      const heading = /^#{1,3}\s+(.*?)\s*#*$/.exec(line)?.[1] ?? (underlined ? line.trim() : undefined);
      if (heading !== undefined && UNRELEASED.test(heading)) {
        hasUnreleased = true;
        current = null;
        continue;
      }
      const match = heading === undefined ? null : VERSION.exec(heading);
      if (match !== null && isHeadingTail(match[2] ?? '')) {
        current = { line: index + 1, version: match[1] ?? '', rest: match[2] ?? '', body: [] };
        sections.push(current);
        if (underlined) index++;
        continue;
      }
    }
    current?.body.push(line);
  }
  return { sections, definitions, hasUnreleased };
}

/** Accepts a date, a mark or a code name in quotes after the version; "2.0 migration guide" is no version. */
function isHeadingTail(rest: string): boolean {
  const left = rest
    .replace(ISO_DATE, '')
    .replace(WORDED_DATE, '')
    .replace(/\[yanked\]/i, '')
    .replace(/"[^"]*"/, '');
  return /^[\s()[\]/:,–—-]*$/.test(left);
}

function dateOf(rest: string): Date | null {
  const iso = ISO_DATE.exec(rest);
  if (iso !== null) {
    const [, year, month = '', day = ''] = iso;
    return parseTime(`${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`);
  }
  const worded = WORDED_DATE.exec(rest)?.[0].replace(/(\d)(st|nd|rd|th)/, '$1');
  const time = worded === undefined ? Number.NaN : Date.parse(`${worded} UTC`);
  return Number.isNaN(time) ? null : new Date(time);
}

/** Adds the link definitions that the body uses. */
function withDefinitions(body: string, definitions: ReadonlyMap<string, string>): string {
  const labels = new Set(
    Array.from(body.matchAll(/\[([^\][]+)\](?!\()/g), (match) => (match[1] ?? '').toLowerCase()),
  );
  const used = [...labels].flatMap((label) => definitions.get(label) ?? []);
  return used.length === 0 ? body : `${body}\n\n${used.join('\n')}`;
}

function next(counts: Map<string, number>, key: string): number {
  const count = counts.get(key) ?? 0;
  counts.set(key, count + 1);
  return count;
}

import { basename } from 'node:path';
import { parseTime, turns } from '../../lib/time.ts';
import { readLandmarks } from '../../markdown/landmarks.ts';
import { definitionsIn, withDefinitions } from '../../markdown/outline.ts';
import { isExportedChangelog, parseExportedChangelog } from './exported-changelog.ts';
import { lineAt, type ParsedFile, type SourceFile, timesApart } from './files.ts';

// Changelogs in the form of keepachangelog.com, and its common variants.

const VERSION =
  /^(?:version\s+)?\[?(?:@?[\w./-]+@)?(v?\d+(?:\.\d+){1,3}(?:[-+.][0-9A-Za-z.+-]+)?)\]?(?:\([^)\s]*\)|\[[^\]]*\])?\s*(.*)$/i;
const UNRELEASED = /^\[?(unreleased|next|upcoming)\]?/i;
const ISO_DATE = /(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})/;
const WORDED_DATE =
  /\b(?:\d{1,2}(?:st|nd|rd|th)? )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (?:\d{1,2}(?:st|nd|rd|th)?,? )?\d{4}\b/i;

/** A longer heading is no version; the patterns would take minutes for a line of the whole file. */
const MAX_HEADING = 500;

/** CHANGELOG.md, HISTORY.md, CHANGES.md, RELEASES.md, and the like. */
export function isChangelogName(name: string): boolean {
  return /^(changelog|change-?log|changes|history|releases?|release-notes)\b/i.test(basename(name));
}

/**
 * Reads a post per version, in the order of the file, newest first. Skips unreleased changes. Versions of one day are a
 * millisecond apart, to keep their order. A version without a date has no `createdAt`. Lets others in while it reads.
 */
export async function parseChangelog({ text }: SourceFile): Promise<ParsedFile> {
  if (isExportedChangelog(text)) return parseExportedChangelog(text);
  const turn = turns();
  const landmarks = await readLandmarks(text);
  const definitions = definitionsIn(landmarks, text);
  const nothing = { start: 0, version: '', rest: '', body: '' };
  const sections: (typeof nothing)[] = [];
  let current = nothing;
  let hasUnreleased = false;
  let at = 0;
  for (const { name, from, to } of landmarks) {
    await turn();
    const isHeading = /^(?:ATXHeading[123]|SetextHeading\d)$/.test(name);
    // Of several lines that are underlined, the last one.
    const start = name.startsWith('Setext')
      ? Math.max(from, text.lastIndexOf('\n', text.lastIndexOf('\n', to - 1) - 1) + 1)
      : from;
    const [line = ''] = isHeading ? text.slice(start, to).split('\n', 1) : [];
    const heading = (line.length > MAX_HEADING ? '' : line).trim().replaceAll(/^#+\s+|[\s#]+$/g, '');
    const [, version = '', rest = ''] = VERSION.exec(heading) ?? [];
    const isUnreleased = UNRELEASED.test(heading);
    const isVersion = !isUnreleased && version !== '' && isHeadingTail(rest);
    if (name !== 'LinkReference' && !isUnreleased && !isVersion) continue;
    current.body += text.slice(at, start);
    at = to;
    hasUnreleased ||= isUnreleased;
    current = isVersion ? { start, version, rest, body: '' } : isUnreleased ? nothing : current;
    if (isVersion) sections.push(current);
  }
  current.body += text.slice(at);

  const timeOf = timesApart();
  const records: ParsedFile['records'] = [];
  // Start with the oldest, so that a version added on top changes no other.
  for (const { start, version, rest, body } of sections.reverse()) {
    await turn();
    const day = dateOf(rest);
    const key = version.replace(/^v/i, '');
    records.push({
      key,
      lineOf: () => lineAt(text, start),
      fields: {
        title: /\[yanked\]/i.test(rest) ? `${version} (yanked)` : version,
        markdown: withDefinitions(body.trim(), definitions),
        sourceMetadata: { version: key },
        ...(day !== null && { createdAt: timeOf(day) }),
      },
    });
  }
  return { records: records.reverse(), skipped: hasUnreleased ? ['unreleased changes'] : [] };
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

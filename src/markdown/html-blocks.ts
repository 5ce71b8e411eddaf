import { type Ends, OPAQUE, startsBlock } from './html.ts';

/** What ends a block of HTML, or null for a blank line. */
export interface HtmlStart {
  end: RegExp | null;
}

const START = /^<(\/?)([a-z][a-z\d-]*)(?=[\s/>]|$)/i;
/** One whole tag that stands alone in its line. */
const LONE_TAG =
  /^<(?:\/[a-z][a-z\d-]*[ \t]*|[a-z][a-z\d-]*(?:[ \t]+[a-z_:][\w.:-]*(?:[ \t]*=[ \t]*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?)*[ \t]*\/?)>[ \t]*$/i;
const RAW_TEXT = /^(?:script|pre|style|textarea)$/i;
const RAW_TEXT_END = /<\/(?:script|pre|style|textarea)>/i;

/** Whether a line begins a block of HTML, by CommonMark's rules. A lone tag does not interrupt a paragraph. */
export function htmlStart(content: string, isInParagraph: boolean): HtmlStart | null {
  const [, slash, name] = START.exec(content) ?? [];
  if (name === undefined) return null;
  if (RAW_TEXT.test(name)) return slash === '' ? { end: RAW_TEXT_END } : null;
  if (startsBlock(name.toLowerCase())) return { end: null };
  return !isInParagraph && content.length < 10_000 && LONE_TAG.test(content) ? { end: null } : null;
}

/**
 * Where a comment, an instruction, or an element that is no text ends that begins a line at `at`, over whatever
 * lines. Null when none begins there, or it has no end.
 */
export function removableEnd(source: string, at: number, ends: Ends): number | null {
  if (source[at] !== '<') return null;
  const special = specialEnd(source, at, ends);
  if (special !== null) return special;
  const [, slash, name = ''] = START.exec(source.slice(at, at + 20)) ?? [];
  return slash === '' && OPAQUE.has(name.toLowerCase()) ? ends.afterEndTag(name.toLowerCase(), at) : null;
}

/** Where a comment, an instruction or a declaration ends that begins at `at`, as browsers read it. */
export function specialEnd(text: string, at: number, ends: Ends): number | null {
  if (text.startsWith('<!--', at)) {
    if (text.startsWith('>', at + 4)) return at + 5;
    if (text.startsWith('->', at + 4)) return at + 6;
    return ends.after('-->', at + 4);
  }
  if (text.startsWith('<?', at)) return ends.after('?>', at + 2);
  if (text.startsWith('<![CDATA[', at)) return ends.after(']]>', at + 9);
  return /^<![a-z]/i.test(text.slice(at, at + 3)) ? ends.after('>', at + 2) : null;
}

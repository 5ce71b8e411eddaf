import { AppError } from '../../lib/app-error.ts';

/** A file to import, as far as a parser cares. */
export interface SourceFile {
  /** As errors name it: the path as it was given. */
  name: string;
  text: string;
}

/** One record of a file before it is checked: what it says, and where. */
export interface RawRecord {
  fields: Record<string, unknown>;
  /** What stays the same when the same record is read again: gives the post its id when the file does not. */
  key: string;
  /** The line, counted from 1, of a field, or of the record when it has no such field. */
  lineOf(field: string): number;
}

/** What a parser made of a file: its records, and what it passed over, in words. */
export interface ParsedFile {
  records: RawRecord[];
  skipped: string[];
}

/** A file that cannot be imported. The message names the file, the line and, where there is one, the field. */
export function importError(file: SourceFile, line: number, message: string): AppError {
  return new AppError(400, `${file.name}:${line}: ${message}`);
}

/** The line, counted from 1, that holds a character. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

/** Keys by title: the second record of that title gets another key than the first. */
export function titleKeys(): (title: unknown) => string {
  const seen = new Map<string, number>();
  return (title) => {
    const text = String(title);
    const count = (seen.get(text) ?? 0) + 1;
    seen.set(text, count);
    return count === 1 ? text : `${text} ${count}`;
  };
}

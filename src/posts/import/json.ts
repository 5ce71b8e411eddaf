import { findNodeAtLocation, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { isRecord } from '../../lib/validation.ts';
import { importError, lineAt, type ParsedFile, type SourceFile, titleKeys } from './source.ts';

/** A JSON array of posts. Throws `AppError` 400 for a file that is none. */
export function parseJson(file: SourceFile): ParsedFile {
  const keyOf = titleKeys();
  const parsed = parse(file);
  if (!Array.isArray(parsed)) throw importError(file, 1, 'must be a JSON array of posts');
  const records = parsed.map((fields, index) => {
    const lineOf = (field?: string) => lineOfNode(file.text, index, field);
    if (!isRecord(fields)) throw importError(file, lineOf(), 'must be a post, as a JSON object');
    return { fields, key: keyOf(fields.title), lineOf };
  });
  return { records, skipped: [] };
}

/** A JSON object on each line; empty lines are passed over. Throws `AppError` 400 for a line that is none. */
export function parseJsonLines(file: SourceFile): ParsedFile {
  const keyOf = titleKeys();
  const records = file.text.split('\n').flatMap((text, index) => {
    if (text.trim() === '') return [];
    const line = index + 1;
    let fields: unknown;
    try {
      fields = JSON.parse(text);
    } catch {
      throw importError(file, line, 'is not valid JSON');
    }
    if (!isRecord(fields)) throw importError(file, line, 'must be a post, as a JSON object');
    return [{ fields, key: keyOf(fields.title), lineOf: () => line }];
  });
  return { records, skipped: [] };
}

function parse(file: SourceFile): unknown {
  try {
    return JSON.parse(file.text);
  } catch {
    // JSON.parse does not say where; this parser does, and is asked only now.
    const errors: ParseError[] = [];
    parseTree(file.text, errors, { disallowComments: true });
    const [first] = errors;
    const what = first === undefined ? '' : `: ${printParseErrorCode(first.error)}`;
    throw importError(file, lineAt(file.text, first?.offset ?? 0), `is not valid JSON${what}`);
  }
}

function lineOfNode(text: string, index: number, field?: string): number {
  const tree = parseTree(text);
  const record = tree === undefined ? undefined : findNodeAtLocation(tree, [index]);
  const value =
    tree === undefined || field === undefined ? undefined : findNodeAtLocation(tree, [index, field]);
  return lineAt(text, (value ?? record)?.offset ?? 0);
}

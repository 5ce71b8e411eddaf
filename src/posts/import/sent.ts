import { AppError } from '../../lib/app-error.ts';
import type { ParsedFile } from './files.ts';

// A file that a thread has read, as data that it can send: no functions, no errors.

type Sent<Record> = Omit<Record, 'lineOf'> & { line: number };

export type SentFile = Omit<ParsedFile, 'records' | 'problems'> & {
  records: Sent<ParsedFile['records'][number]>[];
  problems: Pick<AppError, 'status' | 'message' | 'code' | 'details'>[];
};

/** `maxPosts`: one more is sent, which shows that there are too many. */
export function toSend({ records, problems = [], ...file }: ParsedFile, maxPosts: number): SentFile {
  return {
    ...file,
    records: records.slice(0, maxPosts + 1).map(({ lineOf, ...record }) => ({ ...record, line: lineOf('') })),
    problems: problems.map(({ status, message, code, details }) => ({ status, message, code, details })),
  };
}

export function fromThread({ records, problems, ...file }: SentFile): ParsedFile {
  return {
    ...file,
    records: records.map(({ line, ...record }) => ({ ...record, lineOf: () => line })),
    problems: problems.map(
      ({ status, message, code, details }) =>
        new AppError(status, message, { details, ...(code !== undefined && { code }) }),
    ),
  };
}

import { AppError, type AppErrorOptions } from '../lib/app-error.ts';
import { tidings } from '../lib/build.ts';
import { type After, threadQueue } from '../lib/thread.ts';
import type { ParsedFile, SourceFile } from '../posts/import/files.ts';
import type { Compose, Material, OwnTemplates, Recipe } from './store.ts';

/**
 * How long one request may take, in milliseconds, by the length of its JSON. Most take one or two; 2,000 commits, which are
 * 400,000 characters, take more than a second on a busy machine.
 */
const timeLimitMs = (length: number) => 2_000 + Math.min(8, Math.floor(length / 50_000)) * 1_000;

/** The same for reading a changelog, which somebody waits for. The largest real ones take about a second. */
const CHANGELOG_LIMIT_MS = 30_000;

/** How long the thread is kept without work, in milliseconds: it weighs some megabytes. */
const IDLE_MS = 30_000;

const MAIN = new URL('./thread-main.ts', import.meta.url);

/** A draft to compose, templates to check on sample material, or a changelog to read. */
export type ThreadRequest =
  | { recipe: Recipe; material: Material }
  | { templates: OwnTemplates; material: Material }
  | { changelog: SourceFile; maxPosts: number };
export type ThreadAnswer =
  | { result: unknown }
  | { error: { status: number; message: string; details?: AppErrorOptions['details'] } };

export interface Composer {
  compose: Compose;
  /** Rejects with `AppError` 400 when a template cannot be used. */
  check(templates: OwnTemplates, material: Material): Promise<void>;
  /** Reads a changelog as `parseChangelog` does. Rejects with `AppError` 503. */
  readChangelog(changelog: SourceFile, maxPosts: number): Promise<ParsedFile>;
  /** Ends the thread. The work under way, what waits and what comes later is rejected. */
  close(): void;
}

const failures = {
  draft: {
    stopping: 'The draft was not written: the server is stopping',
    failed: 'The draft could not be written',
    slow: (ms: number) => `The draft took more than ${ms / 1_000} s to write. Simplify its template`,
  },
  changelog: {
    stopping: 'The changelog was not read: the server is stopping',
    failed: 'The changelog could not be read',
    slow: `The changelog took more than 30 s to read. Import it on the command line: ${tidings} post import`,
  },
};

/** Composes drafts in a thread, so that no template that means harm can hold up a request. One at a time. */
export function threadedComposer({
  idleMs = IDLE_MS,
  main = MAIN,
  after,
}: {
  /** Null: the thread is started at once and kept. */
  idleMs?: number | null;
  /** The file that the thread runs. */
  main?: URL;
  after?: After;
} = {}): Composer {
  const queue = threadQueue<ThreadRequest, ThreadAnswer>({ main, limitMs: timeLimitMs, idleMs, after });
  // With a thread of their own, so that no draft has to wait for a changelog.
  const readers = threadQueue<ThreadRequest, ThreadAnswer>({
    main,
    limitMs: CHANGELOG_LIMIT_MS,
    idleMs: IDLE_MS,
    after,
  });

  async function ask<Result>(request: ThreadRequest): Promise<Result> {
    const kind = 'changelog' in request ? 'changelog' : 'draft';
    const answer = await (kind === 'changelog' ? readers : queue).ask(request, failures[kind]);
    if ('error' in answer) {
      const { status, message, details = {} } = answer.error;
      throw new AppError(status, message, { details });
    }
    return answer.result as Result;
  }

  return {
    compose: (recipe, material) => ask({ recipe, material }),
    check: (templates, material) => ask({ templates, material }),
    async readChangelog(changelog, maxPosts) {
      return fromThread(await ask<SentFile>({ changelog, maxPosts }));
    },
    close() {
      queue.close();
      readers.close();
    },
  };
}

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

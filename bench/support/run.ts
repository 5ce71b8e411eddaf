import { type Command, CommanderError, InvalidArgumentError } from 'commander';
import { processTerminal } from '../../src/cli/output.ts';
import { BenchError } from './bench-error.ts';

/** Has something undone when the benchmark ends, however it ends. The last comes first. Returns how to forget it. */
export type Defer = (undo: () => Promise<void>) => () => void;

export const terminal = processTerminal();

/** Runs a benchmark's command and undoes what was deferred, also after a failure and at Ctrl-C. */
export async function runBenchmark(build: (defer: Defer) => Command): Promise<void> {
  const undos = new Set<() => Promise<void>>();
  let undone: Promise<void> | undefined;
  async function undoEach(): Promise<void> {
    for (const undo of [...undos].reverse()) await undo();
  }
  // A signal makes the work fail too, and then both end here.
  const undoAll = () => {
    undone ??= undoEach();
    return undone;
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void undoAll().finally(() => process.exit(1)));
  }

  try {
    const defer: Defer = (undo) => {
      undos.add(undo);
      return () => undos.delete(undo);
    };
    await build(defer).exitOverride().parseAsync(Bun.argv);
  } catch (error) {
    process.exitCode = undone === undefined ? failureCode(error) : 1;
  } finally {
    await undoAll();
  }
}

/** Tells what went wrong, and which code to exit with. Throws what is a bug. */
function failureCode(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (!(error instanceof BenchError)) throw error;
  terminal.writeError(`error: ${error.message}\n`);
  return 1;
}

/** Reads an option that is a whole number of at least 1. */
export function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1 to 9999999.');
}

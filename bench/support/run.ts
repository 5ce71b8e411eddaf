import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Command, CommanderError } from 'commander';
import { processTerminal } from '../../src/cli/output.ts';
import { type Cores, chooseCores } from './machine.ts';

/** An error that a person can fix, shown without a stack. */
export class BenchError extends Error {
  override readonly name = 'BenchError';
}

/** Has something undone at the end, however it ends. The last comes first. Returns how to forget it. */
export type Defer = (undo: () => Promise<void>) => () => void;

/** Given to a benchmark. */
export interface Bench {
  /** Temporary, and its own. */
  folder: string;
  cores: Cores;
  defer: Defer;
  /** Fewer rounds, and smaller amounts than the goals name. */
  isQuick: boolean;
  /** An executable, instead of building one. */
  pocketbase: string | undefined;
}

/** A figure for a goal, in its unit. */
export interface Figure {
  value: number;
  lowest?: number;
  highest?: number;
  /** Processor time for a request in microseconds, and the other's divided by ours. */
  cpu?: { ours: number; theirs: number; ratio: number };
  /** Says which one it was, of several. */
  about?: string;
}

export interface Goal {
  name: string;
  unit: 'ratio' | 'ms' | 'MB' | 'a second' | 'round trips';
  bound: '≥' | '≤';
  limit: number;
}

export const atLeast = (limit: number, unit: Goal['unit'], name: string): Goal => ({
  name,
  unit,
  bound: '≥',
  limit,
});
export const atMost = (limit: number, unit: Goal['unit'], name: string): Goal => ({
  ...atLeast(limit, unit, name),
  bound: '≤',
});

/** Goals by a key each, and how to measure them: a figure, or the reason why there is none. */
export interface Benchmark<Key extends string = string> {
  goals: Record<Key, Goal>;
  measure(bench: Bench): Promise<Record<Key, Figure | string>>;
}

/** Has the compiler compare the keys. */
export const benchmark = <Key extends string>(given: Benchmark<Key>): Benchmark => given;

export const terminal = processTerminal();

/** Runs a command and undoes what was deferred, also after a failure and at Ctrl-C. */
export async function runCommand(build: (defer: Defer) => Command): Promise<void> {
  const { defer, undoEach } = undoList();
  let undone: Promise<void> | undefined;
  // A signal makes the work fail too, and then both end here.
  const undoAll = () => {
    undone ??= undoEach();
    return undone;
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void undoAll().finally(() => process.exit(1)));
  }
  try {
    await build(defer).exitOverride().parseAsync(Bun.argv);
  } catch (error) {
    process.exitCode = undone === undefined ? failureCode(error) : 1;
  } finally {
    await undoAll();
  }
}

function undoList() {
  const undos = new Set<() => Promise<void>>();
  const defer: Defer = (undo) => {
    undos.add(undo);
    return () => undos.delete(undo);
  };
  const undoEach = async () => {
    for (const undo of [...undos].reverse()) await undo();
  };
  return { defer, undoEach };
}

function failureCode(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (!(error instanceof BenchError)) throw error;
  terminal.writeError(`error: ${error.message}\n`);
  return 1;
}

/** Measures with a temporary folder of its own. A failure is the reason of each goal, and the next benchmark goes on. */
export async function runBenchmark(
  { goals, measure }: Benchmark,
  given: Pick<Bench, 'isQuick' | 'pocketbase'>,
  deferLast: Defer,
): Promise<Record<string, Figure | string>> {
  const { defer, undoEach } = undoList();
  const forget = deferLast(undoEach);
  try {
    const folder = await makeTempFolder(defer);
    return await measure({ folder, cores: chooseCores(), defer, ...given });
  } catch (error) {
    if (!(error instanceof BenchError)) terminal.writeError(`${Bun.inspect(error)}\n`);
    const reason = error instanceof Error ? error.message : String(error);
    return Object.fromEntries(Object.keys(goals).map((key) => [key, reason]));
  } finally {
    await undoEach();
    forget();
  }
}

/** A folder that is removed at the end. */
export async function makeTempFolder(defer: Defer): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tidings-bench-'));
  defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

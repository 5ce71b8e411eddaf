import type { Command } from 'commander';
import { type Environment, readConfig } from '../config.ts';
import { openServices, type Services } from '../main.ts';
import type { Terminal } from './output.ts';

/** What the commands are given. */
export interface CliContext {
  readonly terminal: Terminal;
  /** Absent: the environment of the process. */
  readonly environment?: Environment;
}

/** The flags that a command was given, by the variable that each stands for. */
export function flagsOf(command: Command): Record<string, string> {
  const flags: Record<string, string> = {};
  for (const [name, value] of Object.entries(command.optsWithGlobals())) {
    if (typeof value === 'string') flags[name.replaceAll(/[A-Z]/g, '_$&').toUpperCase()] = value;
  }
  return flags;
}

/** Opens the data folder, does the work, and closes it whatever comes. */
export async function withServices<Result>(
  { environment }: CliContext,
  command: Command,
  work: (services: Services) => Promise<Result>,
): Promise<Result> {
  const services = await openServices(readConfig({ DATA_DIR: flagsOf(command).DATA_DIR }, environment));
  try {
    return await work(services);
  } finally {
    await services.close();
  }
}

/** The work failed, and what was printed says all there is to say: exit code 1, without another word. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
}

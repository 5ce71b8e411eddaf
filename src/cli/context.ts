import { type Command, Option } from 'commander';
import { type Environment, readConfig, settings } from '../config.ts';
import { openServices, type Services } from '../main.ts';
import type { Terminal } from './output.ts';

/** The context of every command. */
export interface CliContext {
  readonly terminal: Terminal;
  /** Absent: the environment of the process. */
  readonly environment?: Environment;
}

/** The work failed, and the command has said so itself. */
export class WorkFailed extends Error {
  override readonly name = 'WorkFailed';
}

/** Every setting as an option, for a command that is about the server. */
export function addSettings(command: Command): Command {
  for (const [name, setting] of Object.entries(settings)) {
    // --data-dir belongs to every command.
    if (name === 'DATA_DIR') continue;
    const byDefault = 'default' in setting ? ` (default: ${setting.default})` : '';
    command.addOption(new Option(setting.flag, `${setting.help}${byDefault} [${name}]`));
  }
  return command.addHelpText(
    'after',
    '\nEach option can also be set by the environment variable in brackets.',
  );
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

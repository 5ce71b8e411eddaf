import { styleText } from 'node:util';
import { Command, Help, InvalidArgumentError, Option } from 'commander';
import type { ReadTx } from '../../db/engine.ts';
import { AppError } from '../lib/app-error.ts';
import { tidings } from '../lib/build.ts';
import { escapeControls } from '../lib/text.ts';
import { DAY_MS, parseTime } from '../lib/time.ts';
import { getOrganization } from '../people/organization-store.ts';
import { type Environment, readConfig } from '../server/config.ts';
import { openServices, type Services } from '../server/services.ts';
import { fileOptionOf, optionOf, settingNames, settingOf } from '../server/settings.ts';
import { render, type Terminal, type Text, wrap } from './output.ts';

export interface CliContext {
  readonly terminal: Terminal;
  /** Absent: the environment of the process. */
  readonly environment?: Environment;
}

/** The work failed, and the command has reported it. */
export class WorkFailed extends Error {
  override readonly name = 'WorkFailed';
}

type Work = (services: Services, ...words: never[]) => Promise<unknown>;
type ResultOf<Given extends Work> = Awaited<ReturnType<Given>>;
type WordsOf<Given extends Work> = Parameters<Given> extends [Services, ...infer Words] ? Words : [];

/** A command of the program. Its action works on the data folder and prints a result; its help ends with examples. */
export class TidingsCommand extends Command {
  readonly context: CliContext;

  constructor(name: string | undefined, context: CliContext) {
    super(name);
    this.context = context;
  }

  override createCommand(name?: string): TidingsCommand {
    return new TidingsCommand(name, this.context);
  }

  /**
   * Sets the action. `work` and `describe` get the arguments and options as the person gave them. `toJson`: what `--json`
   * prints of the result; default, all. `hasFailed`: the command then exits with 1.
   */
  answers<Given extends Work>(
    work: Given,
    describe: (result: ResultOf<Given>, ...words: WordsOf<Given>) => Text,
    toJson: (result: ResultOf<Given>) => unknown = (result) => result,
    hasFailed: (result: ResultOf<Given>) => boolean = () => false,
  ): this {
    return this.action(async (...given: unknown[]) => {
      const result = await this.withServices(
        (services) => work(services, ...(given as never[])) as Promise<ResultOf<Given>>,
      );
      this.print(toJson(result), () => describe(result, ...(given as WordsOf<Given>)));
      if (hasFailed(result)) throw new WorkFailed();
    });
  }

  async withServices<Result>(work: (services: Services) => Promise<Result>): Promise<Result> {
    const services = await openServices(this.folderConfig());
    try {
      return await work(services);
    } finally {
      await services.close();
    }
  }

  /** The settings with all flags that were given. */
  config() {
    return readConfig(this.flags(), this.context.environment);
  }

  /** The settings for work on the data folder: other flags of the command are no settings. */
  folderConfig() {
    return readConfig({ DATA_DIR: this.flags().DATA_DIR }, this.context.environment);
  }

  /** The given flags, by the environment variable of each. */
  flags(): Record<string, string> {
    const given = Object.entries(this.optsWithGlobals()).filter(([, value]) => typeof value === 'string');
    return Object.fromEntries(
      given.map(([name, value]) => [name.replaceAll(/[A-Z]/g, '_$&').toUpperCase(), value]),
    );
  }

  /** Prints the value: as one JSON value with `--json`, otherwise as the text that `forPeople` returns. */
  print<Value>(value: Value, forPeople: (value: Value) => Text): void {
    const isJson = this.optsWithGlobals().json === true;
    const text = isJson
      ? escapeControls(JSON.stringify(value))
      : render(this.context.terminal, forPeople(value));
    this.context.terminal.write(`${text}\n`);
  }

  /** Adds every setting as an option. --data-dir belongs to every command. */
  settings(): this {
    for (const name of settingNames) {
      if (name !== 'DATA_DIR') this.option(...optionOf(name));
      if (settingOf(name).isSecret) this.addOption(new Option(...fileOptionOf(name)).hideHelp());
    }
    return this.note(
      'An option can also be set by the environment variable in brackets. The option wins. Each secret can be in a file: SECRET_KEY_FILE names the file of SECRET_KEY.',
    );
  }

  /** Adds a paragraph below the options. */
  note(text: string): this {
    return this.addHelpText('after', ({ error }) => {
      const { getErrHelpWidth, getOutHelpWidth } = this.configureOutput();
      return `\n${wrap(text, (error ? getErrHelpWidth : getOutHelpWidth)?.() ?? 80)}`;
    });
  }

  /** Adds command lines to the end of the help, as a person can paste them. */
  examples(...lines: string[]): this {
    const text = lines.map((line) => `  ${tidings} ${line}`).join('\n');
    return this.addHelpText('after', `\n${bold('Examples:')}\n${text}`);
  }

  sub(name: string, description: string): TidingsCommand {
    return this.command(name).description(description);
  }

  /** Adds a command about one thing of the group, which its id names. */
  about(thing: string) {
    return (name: string, description: string) =>
      this.sub(name, description).argument('<id>', `ID of the ${thing}`);
  }

  /** Adds `enable` and `disable`, which `set` does. `id`: one of these things, for the examples. */
  addSwitch(
    thing: string,
    id: string,
    descriptions: { enable: string; disable: string },
    set: (services: Services, id: string, isEnabled: boolean) => Promise<{ id: string }>,
  ): void {
    for (const name of ['enable', 'disable'] as const) {
      this.about(thing)(name, descriptions[name])
        .answers(
          (services: Services, given: string) => set(services, given, name === 'enable'),
          (changed) => `${name === 'enable' ? 'Enabled' : 'Disabled'}: ${changed.id}`,
        )
        .examples(`${pathOf(this).join(' ')} ${name} ${id}`);
    }
  }
}

/** Work on one thing that leaves no result. */
export const done =
  (past: 'deleted' | 'dismissed', work: (services: Services, id: string) => Promise<void>) =>
  async (services: Services, id: string) => {
    await work(services, id);
    return { id, [past]: true };
  };

export function commandsOf<Given extends Command>(command: Given): Given[] {
  return [command, ...command.commands.flatMap((each) => commandsOf(each as Given))];
}

/** The words of a command line that name the command, without the program's. */
export function pathOf(command: Command): string[] {
  return command.parent === null ? [] : [...pathOf(command.parent), command.name()];
}

// Parsers of option values. An invalid value exits with 2.

export function whole(minimum: number, maximum: number) {
  return (text: string): number => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= minimum && value <= maximum) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${minimum} to ${maximum}.`);
  };
}

/** A time as ISO 8601, in UTC with milliseconds. */
export function isoTime(text: string): string {
  const time = parseTime(text);
  if (time !== null) return time.toISOString();
  throw new InvalidArgumentError('It must be an ISO 8601 date or time, such as 2026-01-31.');
}

const SPAN = /^(\d{1,5})([mhdwy])$/;
const SPAN_MS: Record<string, number> = {
  m: 60_000,
  h: 3_600_000,
  d: DAY_MS,
  w: 7 * DAY_MS,
  y: 365 * DAY_MS,
};

/** A time as ISO 8601, or a span back from now: checked here, read by `sinceWhen`. */
export function timeOrSpan(text: string): string {
  if (SPAN.test(text) || parseTime(text) !== null) return text;
  throw new InvalidArgumentError('It must be an ISO 8601 time, or a span such as 90m, 24h or 30d.');
}

/** The time that `timeOrSpan` let through. */
export function sinceWhen(text: string, now: Date): Date {
  const [, amount = '0', unit = ''] = SPAN.exec(text) ?? [];
  return parseTime(text) ?? new Date(now.getTime() - Number(amount) * (SPAN_MS[unit] ?? 0));
}

// Options of several commands.

export type OfOrganization = { organization?: string };

/** Reads what an organization has or, without one, what all have. Throws `AppError` 404. */
export function readOf<Result>(
  { db }: Pick<Services, 'db'>,
  organization: string | undefined,
  read: (tx: ReadTx) => Promise<Result>,
): Promise<Result> {
  return db.read(async (tx) => {
    if (organization !== undefined) await getOrganization(tx, organization);
    return read(tx);
  });
}

export const ofOrganization = new Option('--organization <id>', 'Only this organization');
export const ofIntegration = new Option('--integration <id>', 'Only this integration');
export const ofEvent = new Option('--event <name>', "Only this event, by the provider's name");
export const sinceThen = new Option(
  '--since <time>',
  'Only since this time: ISO 8601, or a span back from now such as 90m, 24h, 30d',
).argParser(timeOrSpan);

export const limitTo = (rows: string) =>
  new Option('--limit <number>', `${rows}, 1 to 1000`).argParser(whole(1, 1000)).default(50);
export const pageNumber = new Option('--page <number>', 'Page number')
  .argParser(whole(1, 1_000_000_000))
  .default(1);

// Input of commands beside the data folder.

/** Throws `AppError` 400. */
export async function readText(path: string): Promise<string> {
  const file = Bun.file(path);
  if (!(await file.exists())) throw new AppError(400, `${path}: no such file`);
  return file.text();
}

const MAX_TOKEN_BYTES = 10_000;

/** A token as given, or from standard input for `-`, which keeps it out of the list of processes. */
export async function readToken(given: string): Promise<string>;
export async function readToken(given: string | undefined): Promise<string | undefined>;
export async function readToken(given: string | undefined): Promise<string | undefined> {
  return given === '-' ? Bun.stdin.slice(0, MAX_TOKEN_BYTES).text() : given;
}

/** To the minute in UTC, such as "2026-11-24T09:00Z", which `--since` reads too. */
export function clockTime(iso: string): string {
  return `${iso.slice(0, 16)}Z`;
}

// The layout of `--help`. Commander removes colors where the terminal has none.

/** Narrower descriptions go below their term. */
const MIN_DESCRIPTION_WIDTH = 32;

const INDENT = 6;

export const helpLayout: Partial<Help> = {
  showGlobalOptions: true,
  minWidthToWrap: MIN_DESCRIPTION_WIDTH,
  styleTitle: (title) => bold(title.replace('Global Options:', 'Global options:')),
  formatItem(term, termWidth, description, helper) {
    const width = helper.helpWidth ?? 80;
    if (description === '' || width - termWidth - 4 >= MIN_DESCRIPTION_WIDTH) {
      return Help.prototype.formatItem.call(helper, term, termWidth, description, helper);
    }
    const below = wrap(description, width - INDENT).split('\n');
    return [`  ${term}`, ...below.map((line) => `${' '.repeat(INDENT)}${line}`)].join('\n');
  },
};

const bold = (text: string) => styleText('bold', text, { validateStream: false });

import { type Command, Option } from 'commander';
import { AppError } from '../lib/app-error.ts';
import type { Services } from '../server/services.ts';
import { type CliContext, timeOrSpan, whole, withServices } from './context.ts';
import { examples } from './help.ts';
import { print, type Text } from './output.ts';

// Shared by the groups of commands: actions, arguments, options and input files.

type Work = (services: Services, ...words: never[]) => Promise<unknown>;
type ResultOf<Given extends Work> = Awaited<ReturnType<Given>>;
type WordsOf<Given extends Work> = Parameters<Given> extends [Services, ...infer Words] ? Words : [];

/**
 * Makes the action of a command on the data folder. `work` and `describe` get the arguments and options as the person
 * gave them. `toJson`: what `--json` prints of the result; default, all.
 */
export function answering(context: CliContext) {
  return <Given extends Work>(
    work: Given,
    describe: (result: ResultOf<Given>, ...words: WordsOf<Given>) => Text,
    toJson: (result: ResultOf<Given>) => unknown = (result) => result,
  ) =>
    async (...given: unknown[]): Promise<void> => {
      const command = given.at(-1) as Command;
      const run = (services: Services) => work(services, ...(given as never[])) as ReturnType<Given>;
      const result: ResultOf<Given> = await withServices(context, command, run);
      print(context.terminal, command, toJson(result), () => describe(result, ...(given as WordsOf<Given>)));
    };
}

/** Adds a command about one thing of the group, which its id names. */
export const aboutOne = (group: Command, thing: string) => (name: string, description: string) =>
  group.command(name).description(description).argument('<id>', `Id of the ${thing}`);

/** Adds `enable` and `disable`, which `set` does. `id`: one of these things, for the examples. */
export function addSwitch(
  command: ReturnType<typeof aboutOne>,
  context: CliContext,
  id: string,
  descriptions: { enable: string; disable: string },
  set: (services: Services, id: string, isEnabled: boolean) => Promise<{ id: string }>,
): void {
  for (const [name, past] of [
    ['enable', 'Enabled'],
    ['disable', 'Disabled'],
  ] as const) {
    const made = command(name, descriptions[name]).action(
      answering(context)(
        (services: Services, given: string) => set(services, given, name === 'enable'),
        (changed) => `${past}: ${changed.id}`,
      ),
    );
    examples(made, `${pathOf(made).join(' ')} ${id}`);
  }
}

/** Work on one thing that leaves no result. */
export const done =
  (past: 'deleted' | 'dismissed', work: (services: Services, id: string) => Promise<void>) =>
  async (services: Services, id: string) => {
    await work(services, id);
    return { id, [past]: true };
  };

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

/** Throws `AppError` 400. */
export async function readText(path: string): Promise<string> {
  const file = Bun.file(path);
  if (!(await file.exists())) throw new AppError(400, `${path}: no such file`);
  return file.text();
}

/** To the minute, in UTC. */
export function clockTime(iso: string): string {
  return iso.slice(0, 16).replace('T', ' ');
}

/** The command and all commands below it. */
export function commandsOf(command: Command): Command[] {
  return [command, ...command.commands.flatMap(commandsOf)];
}

/** The words of a command line that name the command, without the program's. */
export function pathOf(command: Command): string[] {
  return command.parent === null ? [] : [...pathOf(command.parent), command.name()];
}

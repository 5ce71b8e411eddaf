import type { Command } from 'commander';
import type { Services } from '../main.ts';
import { type CliContext, withServices } from './context.ts';
import { print } from './output.ts';

// What the groups of commands share: how one runs, and its argument.

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
    describe: (result: ResultOf<Given>, ...words: WordsOf<Given>) => string,
    toJson: (result: ResultOf<Given>) => unknown = (result) => result,
  ) =>
    async (...given: unknown[]): Promise<void> => {
      const command = given.at(-1) as Command;
      const result = await withServices(context, command, (services) =>
        work(services, ...(given as never[])),
      );
      const words = given as WordsOf<Given>;
      print(context.terminal, command, toJson(result as ResultOf<Given>), () =>
        describe(result as ResultOf<Given>, ...words),
      );
    };
}

/** Adds a command about one thing of the group, which its id names. */
export const aboutOne = (group: Command, thing: string) => (name: string, description: string) =>
  group.command(name).description(description).argument('<id>', thing);

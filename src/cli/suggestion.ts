import type { Command } from 'commander';
import type { Suggestion } from '../drafts/model.ts';
import { dismissSuggestion, getSuggestion, takeSuggestion } from '../drafts/suggestions.ts';
import { type CliContext, withServices } from './context.ts';
import { oneLine, print } from './output.ts';

/** Commands about the newer text that an event has for a post which a person has edited or published. */
export function addSuggestionCommands(posts: Command, context: CliContext): void {
  const group = posts
    .command('suggestion')
    .description('compare, take or dismiss the newer text that an event has for an edited post');

  group
    .command('show')
    .description('show the suggested text')
    .argument('<id>', 'the post')
    .action(async (id: string, _options: object, command: Command) => {
      const suggestion = await withServices(context, command, (services) => getSuggestion(services, id));
      print(context.terminal, command, suggestion, describe);
    });

  group
    .command('take')
    .description('put the suggested text into the post')
    .argument('<id>', 'the post')
    .action(async (id: string, _options: object, command: Command) => {
      const post = await withServices(context, command, (services) => takeSuggestion(services, id));
      print(context.terminal, command, post, ({ title }) => `Taken: ${oneLine(title)} (${id})`);
    });

  group
    .command('dismiss')
    .description('turn the suggested text down')
    .argument('<id>', 'the post')
    .action(async (id: string, _options: object, command: Command) => {
      await withServices(context, command, (services) => dismissSuggestion(services, id));
      print(context.terminal, command, { id, dismissed: true }, () => `Dismissed: ${id}`);
    });
}

function describe({ suggestedAt, changes }: Suggestion): string {
  return `Suggested ${suggestedAt}\n\n${changes.map(({ kind, line }) => `${MARK[kind]} ${line}`).join('\n')}`;
}

const MARK = { same: ' ', removed: '-', added: '+' } as const;

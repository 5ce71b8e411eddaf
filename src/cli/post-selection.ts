import { type Command, Option } from 'commander';
import { contentTypes, type PageSelection, postStatuses } from '../posts/model.ts';

/** The options of commands about many posts of an organization. */
export interface Selection extends Pick<PageSelection, 'sort'> {
  organization: string;
  status?: PageSelection['statuses'];
  contentType?: PageSelection['contentTypes'];
}

export function selecting(command: Command): Command {
  const types = new Option('--content-type <type...>', 'Only these content types');
  return command
    .requiredOption('--organization <id>', 'Organization')
    .addOption(new Option('--status <status...>', 'Only these statuses').choices(postStatuses))
    .addOption(types.choices(contentTypes))
    .addOption(
      new Option('--sort <order>', 'Order by creation date').choices(['asc', 'desc']).default('desc'),
    );
}

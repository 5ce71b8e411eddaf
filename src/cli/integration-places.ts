import type { Command } from 'commander';
import type { ConnectedPlace } from '../integrations/connect.ts';
import { addPlace, removePlace } from '../integrations/places.ts';
import { repairHooks } from '../integrations/repair.ts';
import { setToken } from '../integrations/set-token.ts';
import { tidings } from '../lib/how-to-run.ts';
import { type CliContext, readToken, withServices } from './context.ts';
import { fields, print } from './output.ts';

/** Repositories or teams of an integration, and how Tidings manages their webhooks. */
export function addPlaceCommands(group: Command, context: CliContext): void {
  group
    .command('add')
    .description('connect another repository or team')
    .argument('<id>', 'the integration')
    .argument('<name>', 'OWNER/NAME, or the key of a team')
    .action(async (id: string, name: string, _options: object, command: Command) => {
      const added = await withServices(context, command, (services) => addPlace(services, id, name));
      print(context.terminal, command, { integrationId: id, ...added }, () =>
        added.hookId === undefined
          ? `${fields({ 'Webhook URL': added.webhookUrl })}\n\nSet up its webhook with this URL and the secret that you kept; if you did not: ${tidings} integration rotate-secret ${id}`
          : describe(added as ConnectedPlace),
      );
    });

  group
    .command('remove')
    .description('disconnect one of its repositories or teams, with its webhook and its triggers')
    .argument('<id>', 'the integration')
    .argument('<name>', 'OWNER/NAME, or the key of a team')
    .option('--force', 'also when the provider does not delete the webhook')
    .action(async (id: string, name: string, { force }: { force?: true }, command: Command) => {
      const { isLeft } = await withServices(context, command, (services) =>
        removePlace(services, id, name, { force: force === true }),
      );
      const removed = { integrationId: id, place: name, removed: true, ...(isLeft ? { left: [name] } : {}) };
      print(context.terminal, command, removed, () =>
        isLeft ? `Removed: ${name}\nThe webhook was left there: delete it by hand.` : `Removed: ${name}`,
      );
    });

  group
    .command('set-token')
    .description('let Tidings keep the webhooks: its first token, or a newer one')
    .argument('<id>', 'the integration')
    .requiredOption('--token <token>', 'the token; - reads it from standard input')
    .action(async (id: string, options: { token: string }, command: Command) => {
      const token = await readToken(options.token);
      const places = await withServices(context, command, (services) => setToken(services, id, token));
      print(context.terminal, command, { integrationId: id, places }, () => places.map(describe).join('\n'));
    });

  group
    .command('repair')
    .description('set its webhooks anew at the provider, whatever became of them there')
    .argument('<id>', 'the integration')
    .action(async (id: string, _options: object, command: Command) => {
      const places = await withServices(context, command, (services) => repairHooks(services, id));
      print(context.terminal, command, { integrationId: id, places }, () => places.map(describe).join('\n'));
    });
}

function describe({ place, hookId, hasPinged }: ConnectedPlace): string {
  const ping = hasPinged === null ? '' : hasPinged ? '; its ping arrived' : '; its ping has not arrived yet';
  return `${place}: webhook ${hookId} is as it should be${ping}.`;
}

import type { Command } from 'commander';
import { tidings } from '../lib/build.ts';
import { pollNow } from '../polling/poll.ts';
import { useManualWebhook, usePolling, useWebhook } from '../polling/switch.ts';
import { aboutOne, answering } from './command.ts';
import { type CliContext, readToken, WorkFailed, withServices } from './context.ts';
import { examples } from './help.ts';
import { describePlaces, ONCE } from './integration-connect.ts';
import { check, fields, lines, print, table } from './output.ts';

/** Polling an integration now, and the change from polling to a webhook and back. */
export function addPollingCommands(group: Command, context: CliContext): void {
  const command = aboutOne(group, 'integration');
  const answer = answering(context);

  const poll = command('poll', 'Poll the repositories of a polled integration now').action(
    async (id: string, _: object, given: Command) => {
      const polled = await withServices(context, given, (services) => pollNow(services, id));
      print(context.terminal, given, polled, () =>
        lines(
          polled.map(({ repository, news, problem }) =>
            check(
              problem === null ? 'ok' : 'failed',
              `${repository}: ${problem ?? (news === 0 ? 'nothing new' : `${news} new`)}`,
            ),
          ),
        ),
      );
      if (polled.some(({ problem }) => problem !== null)) throw new WorkFailed();
    },
  );
  examples(poll, 'integration poll int_…');

  const webhook = command(
    'use-webhook',
    'Change from polling to a webhook. Polling goes on until the webhook has delivered, so nothing is lost',
  )
    .option(
      '--token <token>',
      'Token that may create the webhook (default: the stored one); - reads it from standard input',
    )
    .option('--manual', 'Print a URL and a secret to paste')
    .hook('preAction', (given) => {
      const { token, manual } = given.opts();
      if (token !== undefined && manual) given.error('error: --manual and --token cannot be combined');
    })
    .action(
      answer(
        async (services, integrationId: string, options: { token?: string; manual?: true }) => {
          if (options.manual) return { integrationId, ...(await useManualWebhook(services, integrationId)) };
          const token = options.token === undefined ? undefined : await readToken(options.token);
          return { integrationId, places: await useWebhook(services, integrationId, { token }) };
        },
        (result) => {
          const end = 'Tidings polls until the first delivery has arrived, and once more.';
          if (result.places !== undefined) return [describePlaces(result), end];
          const urls = result.urls.map(({ repository, webhookUrl }) => [repository, webhookUrl]);
          return [fields({ Secret: result.secret }), ONCE, table(['REPOSITORY', 'WEBHOOK URL'], urls), end];
        },
      ),
    );
  examples(
    webhook,
    'integration use-webhook int_…',
    'integration use-webhook int_… --token - < token.txt',
    'integration use-webhook int_… --manual',
  );

  const polling = command(
    'use-polling',
    'Change from a webhook to polling. The webhook is deleted after another round, so nothing is lost',
  ).action(
    answer(
      async (services, integrationId: string) => ({
        integrationId,
        ...(await usePolling(services, integrationId)),
      }),
      ({ integrationId, places, byHand }) => [
        `Polled from now on: ${places.join(', ')}.`,
        byHand.length === 0
          ? `Tidings deletes the webhooks after the next round. To check: ${tidings} integration doctor ${integrationId}`
          : `Delete the webhooks of ${byHand.join(', ')} by hand. Until then, nothing is drafted twice.`,
      ],
    ),
  );
  examples(polling, 'integration use-polling int_…');
}

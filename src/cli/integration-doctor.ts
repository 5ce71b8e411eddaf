import type { Command } from 'commander';
import { pollNow } from '../intake/polling/poll.ts';
import { useManualWebhook, usePolling, useWebhook } from '../intake/polling/switch.ts';
import { type Diagnosis, diagnose, type Fix } from '../integrations/doctor.ts';
import {
  type ComparedDelivery,
  type Comparison,
  findMissed,
  MAX_REDELIVERED,
  redeliverMissed,
} from '../integrations/missed.ts';
import { describeFinding, describeMissed, fixes } from '../integrations/words.ts';
import { tidings } from '../lib/build.ts';
import { providerOf } from '../providers/index.ts';
import type { IntegrationType } from '../providers/paths.ts';
import { aboutOne, answering } from './command.ts';
import { type CliContext, readToken, WorkFailed, withServices } from './context.ts';
import { examples } from './help.ts';
import { describePlaces, ONCE } from './integration-connect.ts';
import { check, fields, lines, print, type Text, table } from './output.ts';

export function addDoctorCommands(group: Command, context: CliContext): void {
  const command = aboutOne(group, 'integration');

  const doctor = command('doctor', 'Check everything that deliveries depend on, and suggest fixes').action(
    async (id: string, _options: object, command: Command) => {
      const diagnosis = await withServices(context, command, (services) => diagnose(services, id));
      print(context.terminal, command, diagnosisJson(diagnosis), ({ checks }) =>
        lines(checks.flatMap(describeCheck)),
      );
      if (!diagnosis.ok) throw new WorkFailed();
    },
  );
  examples(doctor, 'integration doctor int_…');

  const missed = command('missed', "Compare the provider's deliveries of the last three days with the log")
    .option('--redeliver [delivery-id...]', 'Ask the provider to redeliver these, or all that are missing')
    .action(async (id: string, { redeliver }: { redeliver?: true | string[] }, command: Command) => {
      if (redeliver === undefined) {
        const comparison = await withServices(context, command, (services) => findMissed(services, id));
        print(context.terminal, command, comparisonJson(comparison), describeComparison);
        return;
      }
      const wanted = redeliver === true ? 'all' : redeliver;
      const redelivered = await withServices(context, command, (services) =>
        redeliverMissed(services, id, wanted),
      );
      const results = redelivered.map(({ deliveryId, problem }) => ({
        deliveryId,
        isAsked: problem === null,
        problem: problem?.message ?? null,
      }));
      const redeliveries = results.map(
        ({ deliveryId, problem }) => `${deliveryId}: ${problem ?? 'the provider redelivers it'}`,
      );
      if (redeliveries.length === MAX_REDELIVERED)
        redeliveries.push('There may be more. Run the command again once these have arrived.');
      print(context.terminal, command, results, () => redeliveries.join('\n') || 'No delivery is missing.');
      if (results.some(({ isAsked }) => !isAsked)) throw new WorkFailed();
    });
  examples(missed, 'integration missed int_…', 'integration missed int_… --redeliver');
}

function diagnosisJson({ integrationId, ok, findings, type }: Diagnosis) {
  const checks = findings.map((finding) => {
    const { name, place, status, fix, missed } = finding;
    const advice = fix && (fixes[fix] ?? commandFor(fix, integrationId, type));
    return {
      name,
      place,
      status,
      message: describeFinding(finding),
      advice,
      missed: missed?.map(missedJson),
    };
  });
  return { integrationId, ok, checks };
}

function commandFor(fix: Fix, id: string, type: IntegrationType): string {
  const integration = `${tidings} integration`;
  switch (fix) {
    case 'set_token':
      return `To let Tidings check it, set a token: ${integration} set-token ${id} --token TOKEN`;
    case 'redeliver':
      return `${integration} missed ${id} --redeliver`;
    case 'send_test':
      return `Trigger an event at the provider, or send a test event: ${tidings} send ${type} ${providerOf(type).exampleEvent} --integration ${id}`;
    default:
      return `${integration} ${fix.replace('_', '-')} ${id}`;
  }
}

function missedJson({ cause, ...delivery }: ComparedDelivery) {
  return { ...delivery, reason: cause === null ? null : describeMissed(cause) };
}

function comparisonJson({ unknown, missed, ...comparison }: Comparison) {
  return {
    ...comparison,
    missed: missed.map(missedJson),
    untold: unknown.map(({ place, problem }) => ({ place, reason: problem.message })),
  };
}

function describeCheck({
  name,
  place,
  status,
  message,
  advice,
  missed,
}: ReturnType<typeof diagnosisJson>['checks'][number]) {
  const subject = place === undefined ? name : `${name} (${place})`;
  return [
    check(status, `${subject}: ${message}`, advice),
    ...(missed === undefined ? [] : ['', missedTable(missed.slice(0, 20)), '']),
  ];
}

function describeComparison({
  integrationId,
  missed,
  counts,
  isCut,
  untold,
}: ReturnType<typeof comparisonJson>): Text {
  const redeliver = `To redeliver them: ${tidings} integration missed ${integrationId} --redeliver`;
  return [
    `${counts.arrived} arrived, ${counts.failed} failed, ${counts['never-arrived']} never arrived.`,
    ...(missed.length === 0 ? [] : [missedTable(missed), redeliver]),
    ...untold.map(({ place, reason }) => `Deliveries of ${place} are unknown: ${reason}`),
    isCut ? 'The provider has older deliveries that were not compared.' : '',
  ];
}

function missedTable(missed: readonly ReturnType<typeof missedJson>[]) {
  return table(
    ['DELIVERY', 'DELIVERED', 'EVENT', 'RESULT', 'REASON'],
    missed.map(({ deliveryId, deliveredAt, event, action, fate, reason }) => [
      deliveryId,
      deliveredAt,
      action === null ? event : `${event} ${action}`,
      fate === 'failed' ? 'failed' : 'never arrived',
      reason ?? '',
    ]),
    ['REASON', 'EVENT'],
  );
}

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

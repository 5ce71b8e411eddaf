import { type Diagnosis, diagnose, type Fix } from '../integrations/doctor.ts';
import {
  type ComparedDelivery,
  type Comparison,
  findMissed,
  MAX_REDELIVERED,
  redeliverMissed,
} from '../integrations/missed.ts';
import { describeFinding, describeMissed, fixes, type IntegrationType } from '../integrations/words.ts';
import { tidings } from '../lib/build.ts';
import type { FoundItem } from '../people/attention.ts';
import { providerOf } from '../providers/index.ts';
import { findInDatabase } from '../server/attention.ts';
import type { TidingsCommand } from './command.ts';
import { check, lines, type Text, table } from './output.ts';

export function addDoctorCommands(group: TidingsCommand): void {
  const command = group.about('integration');

  command('doctor', 'Check everything that deliveries depend on, and suggest fixes')
    .answers(
      async (services, id: string) => {
        const diagnosis = await diagnose(services, id);
        const { db, clock } = services;
        const items = await db.read((tx) => findInDatabase(tx, clock.now()));
        return diagnosisJson(
          diagnosis,
          items.filter(({ path }) => path?.replace(/#.*/, '') === `integrations/${id}`),
        );
      },
      ({ checks }) => lines(checks.flatMap(describeCheck)),
      (diagnosis) => diagnosis,
      ({ ok }) => !ok,
    )
    .examples('integration doctor int_…');

  command('missed', 'Compare the deliveries that the provider keeps with the log')
    .option('--redeliver [delivery-id...]', 'Ask the provider to redeliver these, or all that are missing')
    .answers(
      async (services, id: string, { redeliver }: { redeliver?: true | string[] }) => {
        if (redeliver === undefined) return comparisonJson(await findMissed(services, id));
        const redelivered = await redeliverMissed(services, id, redeliver === true ? 'all' : redeliver);
        return redelivered.map(({ deliveryId, problem }) => ({
          deliveryId,
          isAsked: problem === null,
          problem: problem?.message ?? null,
        }));
      },
      (result) => (Array.isArray(result) ? describeRedelivered(result) : describeComparison(result)),
      (result): unknown => result,
      (result) => Array.isArray(result) && result.some(({ isAsked }) => !isAsked),
    )
    .examples('integration missed int_…', 'integration missed int_… --redeliver');
}

/** `items`: those of the attention list about the integration, so that both say the same. */
function diagnosisJson({ integrationId, ok, findings, type }: Diagnosis, items: readonly FoundItem[]) {
  const found = findings.map((finding) => {
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
  const listed = items.map(({ message, action }) => ({
    ...({ name: 'attention', status: 'failed', message, advice: action } as const),
    ...{ place: undefined, missed: undefined },
  }));
  return { integrationId, ok: ok && items.length === 0, checks: [...found, ...listed] };
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

function describeRedelivered(results: readonly { deliveryId: string; problem: string | null }[]) {
  const lines = results.map(
    ({ deliveryId, problem }) => `${deliveryId}: ${problem ?? 'the provider redelivers it'}`,
  );
  if (lines.length === MAX_REDELIVERED)
    lines.push('There may be more. Run the command again once these have arrived.');
  return lines.join('\n') || 'No delivery is missing.';
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

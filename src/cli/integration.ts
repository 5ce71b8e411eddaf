import { addPolledPlace, setPollToken } from '../intake/polling/connect.ts';
import { setEnabled } from '../integrations/connect.ts';
import { type Diagnosis, diagnose, type Fix } from '../integrations/doctor.ts';
import { listHooks } from '../integrations/hook-store.ts';
import {
  type ComparedDelivery,
  type Comparison,
  findMissed,
  MAX_REDELIVERED,
  redeliverMissed,
} from '../integrations/missed.ts';
import { addPlace, disconnectIntegration, removePlace } from '../integrations/places.ts';
import { repairHooks, rotateSecret } from '../integrations/rotate.ts';
import { getIntegration, listHistoryOnly, listIntegrations } from '../integrations/store.ts';
import { setToken } from '../integrations/token.ts';
import {
  ChangeFailed,
  describeFinding,
  describeMissed,
  describeOldSecret,
  fixes,
  IntegrationProblem,
  type IntegrationType,
} from '../integrations/words.ts';
import { tidings } from '../lib/build.ts';
import type { FoundItem } from '../people/attention.ts';
import { listProviders, providerOf, providers } from '../providers/index.ts';
import { findInDatabase } from '../server/attention.ts';
import type { Services } from '../server/services.ts';
import { type OfOrganization, ofOrganization, readOf, readToken, type TidingsCommand } from './command.ts';
import { addConnectCommands, addPollingCommands, describePlaces, ONCE } from './integration-connect.ts';
import { check, fields, lines, switchStatus, type Text, table } from './output.ts';

export function add(program: TidingsCommand): void {
  const group = program.sub('integration', `Connect ${listProviders('and')}`);
  const command = group.about('integration');
  group.examples(
    `integration connect ${first?.id} --organization acme --repository acme/rocket`,
    'integration list',
    'integration doctor int_…',
  );
  addConnectCommands(group);

  group
    .sub('list', 'List the integrations, oldest first')
    .addOption(ofOrganization)
    .answers(listWithPlaces, describeList, (listed) =>
      listed.map(({ names: _, ...integration }) => integration),
    )
    .examples('integration list', 'integration list --organization acme');

  const switches = {
    enable: 'Accept deliveries again',
    disable: 'Reject deliveries until the integration is enabled',
  };
  group.addSwitch('integration', 'int_…', switches, setEnabled);

  command('rotate-secret', 'Create a new webhook secret. The old one works for another 24 hours.')
    .option('--now', 'End the old secret at once, after a leak')
    .answers(
      async (services, id: string, options: { now?: boolean }) => ({
        ...(await rotateSecret(services, id, options)),
        type: (await services.db.read((tx) => getIntegration(tx, id))).type,
      }),
      ({ secret, isSetAtProvider, type }, _, { now = false }) => {
        const provider = providerOf(type).name;
        const next = isSetAtProvider ? `It is already set at ${provider}.` : `${ONCE} Set it at ${provider}.`;
        return [fields({ Secret: secret }), `${next} ${describeOldSecret(type, now, isSetAtProvider)}`];
      },
      ({ secret }) => ({ secret }),
    )
    .examples('integration rotate-secret int_…', 'integration rotate-secret int_… --now');

  command('add', 'Connect another repository or team')
    .argument('<name>', PLACE)
    .answers(
      async (services, integrationId: string, name: string) => ({
        integrationId,
        ...((await isPolled(services, integrationId))
          ? await addPolledPlace(services, integrationId, name)
          : await addPlace(services, integrationId, name)),
      }),
      ({ integrationId, ...added }) =>
        !('webhookUrl' in added)
          ? `${added.place} is polled from now on.`
          : added.hookId === undefined
            ? [
                fields({ 'Webhook URL': added.webhookUrl }),
                `Set up the webhook with this URL and the secret of the integration. For a new secret: ${tidings} integration rotate-secret ${integrationId}`,
              ]
            : describePlaces({ places: [added] }),
    )
    .examples('integration add int_… acme/engine');

  command('remove', 'Disconnect one repository or team, with its webhook and triggers')
    .argument('<name>', PLACE)
    .option('--force', FORCE)
    .answers(
      async (services, integrationId: string, place: string, options: { force?: boolean }) => {
        const { isLeft } = await removePlace(services, integrationId, place, options);
        return { integrationId, place, removed: true, ...(isLeft && { left: [place] }) };
      },
      ({ place, left }) =>
        `Removed: ${place}${left === undefined ? '' : '\nThe webhook may still exist there. Delete it by hand.'}`,
    )
    .examples('integration remove int_… acme/engine');

  command('set-token', 'Set or replace the token with which Tidings manages the webhooks, or polls')
    .requiredOption('--token <token>', 'Token; - reads it from standard input')
    .answers(
      async (services, integrationId: string, { token }: { token: string }) => {
        if (!(await isPolled(services, integrationId))) {
          return { integrationId, places: await setToken(services, integrationId, await readToken(token)) };
        }
        await setPollToken(services, integrationId, await readToken(token));
        return { integrationId, isPolled: true, places: [] };
      },
      (result) =>
        'isPolled' in result
          ? 'The token is stored. Tidings polls with it from now on.'
          : describePlaces(result),
    )
    .examples(
      'integration set-token int_… --token TOKEN',
      'integration set-token int_… --token - < token.txt',
    );

  command('repair', 'Set up the webhooks at the provider again')
    .answers(
      async (services, integrationId: string) => ({
        integrationId,
        places: await repairHooks(services, integrationId),
      }),
      describePlaces,
    )
    .examples('integration repair int_…');

  addPollingCommands(group);
  addDoctorCommands(group);

  command('disconnect', 'Delete an integration and its webhooks for good. Its deliveries stay in the log.')
    .option('--force', FORCE)
    .answers(
      async (services, id: string, options: { force?: boolean }) => {
        const { left } = await disconnectIntegration(services, id, options);
        return { id, deleted: true, ...(left.length > 0 && { left }) };
      },
      ({ id, left = [] }) =>
        left.length === 0
          ? `Disconnected: ${id}`
          : `Disconnected: ${id}\nA webhook may still exist at ${left.join(', ')}. Delete it there by hand.`,
    )
    .examples('integration disconnect int_…', 'integration disconnect int_… --force');
}

const [first] = providers;
const PLACE = 'OWNER/NAME or URL of a repository, or the key of a team';
const FORCE = 'Continue even if the provider does not delete the webhook';

const isPolled = async ({ db }: Services, id: string) =>
  (await db.read((tx) => getIntegration(tx, id))).isPolled;

/** With the names of its repositories or, where Tidings manages a webhook, of its teams. */
function listWithPlaces(services: Services, { organization }: OfOrganization) {
  return readOf(services, organization, async (tx) => {
    const all = await listIntegrations(tx, organization);
    const imported = await listHistoryOnly(tx, all);
    return Array.fromAsync(all, async (integration) => {
      const { id, type, repositories } = integration;
      const names = providerOf(type).hasRepositories
        ? repositories.map(({ fullName }) => fullName)
        : (await listHooks(tx, id)).map(({ placeName }) => placeName);
      return { ...integration, isHistoryOnly: imported.has(id), names };
    });
  });
}

function describeList(listed: Awaited<ReturnType<typeof listWithPlaces>>): Text {
  if (listed.length === 0) {
    return `No integrations yet. Connect one: ${tidings} integration connect ${first?.id} --organization ID --repository OWNER/NAME`;
  }
  return table(
    ['ID', 'TYPE', 'STATUS', 'WEBHOOK', 'ORGANIZATION', 'REPOSITORIES, TEAMS'],
    listed.map(({ id, type, enabled, organizationId, isManaged, isHistoryOnly, isPolled, app, names }) => [
      id,
      type,
      switchStatus(enabled),
      isPolled
        ? 'polling'
        : app !== null
          ? `App ${app.slug}`
          : isManaged
            ? 'managed'
            : isHistoryOnly
              ? 'none'
              : 'by hand',
      organizationId,
      names.join(', ') || '–',
    ]),
    ['REPOSITORIES, TEAMS'],
  );
}

export async function repositoryNames({ db }: Pick<Services, 'db'>): Promise<ReadonlyMap<string, string>> {
  const integrations = await db.read((tx) => listIntegrations(tx));
  return new Map(
    integrations.flatMap(({ repositories }) =>
      repositories.map(({ id, fullName }) => [id, fullName] as const),
    ),
  );
}

/** The command or option that helps with a refused change, as the rest of its message; empty without one. */
export function integrationHint(error: unknown): string {
  if (error instanceof ChangeFailed) {
    const canForce = error.outcome.code === 'not_removed' || error.outcome.code === 'not_disconnected';
    return canForce ? ' With --force, the webhook stays at the provider until somebody deletes it.' : '';
  }
  if (!(error instanceof IntegrationProblem)) return '';
  const { problem } = error;
  switch (problem.code) {
    case 'place_connected':
    case 'no_token':
      return ` To give it a token: ${tidings} integration set-token ${problem.integrationId} --token TOKEN`;
    case 'last_place':
      return `: ${tidings} integration disconnect ${problem.integrationId}`;
    case 'unknown_place':
      return '. "integration list" shows what it has.';
    default:
      return '';
  }
}

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

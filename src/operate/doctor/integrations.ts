import { listLastOutcomes } from '../../deliveries/log-store.ts';
import type { Integration } from '../../integrations/model.ts';
import { listIntegrations } from '../../integrations/store.ts';
import { tidings } from '../../lib/how-to-run.ts';
import { DAY_MS } from '../../lib/time.ts';
import { type Check, counted, databaseCheck, ok, type Patient, warning } from './check.ts';

/** So many deliveries in a row that were not taken are no accident. */
const IN_A_ROW = 3;

/** How many integrations are named in a message. */
const MAX_NAMED = 5;

export const integrationChecks: readonly Check[] = [
  databaseCheck('deliveries', async (patient) => {
    const integrations = (await listIntegrations(patient.db)).filter(({ enabled }) => enabled);
    const troubled: string[] = [];
    for (const each of integrations) troubled.push(...(await findTrouble(patient, each)));
    if (troubled.length === 0)
      return ok(`Nothing is odd about the deliveries (${counted(integrations.length, 'integration')})`);
    const more = troubled.length > MAX_NAMED ? `; and ${troubled.length - MAX_NAMED} more` : '';
    return warning(
      troubled.slice(0, MAX_NAMED).join('; ') + more,
      `"${tidings} delivery list" says what came; look at the webhook's page at the provider for its URL and secret`,
    );
  }),
];

/** The problem with the last deliveries of an integration, if there is one. */
async function findTrouble(
  { db, clock }: Patient & { db: NonNullable<Patient['db']> },
  { id, type, createdAt }: Integration,
): Promise<string[]> {
  const last = await db.read((tx) => listLastOutcomes(tx, id, IN_A_ROW));
  const [newest] = last;
  if (newest === undefined) {
    const isNew = clock.now().getTime() - Date.parse(createdAt) < DAY_MS;
    return isNew ? [] : [`${id} (${type}): the log has no delivery`];
  }
  const isTaken = last.some(({ status }) => status !== 'failed' && status !== 'rejected');
  if (isTaken || last.length < IN_A_ROW) return [];
  return [`${id} (${type}): the last ${IN_A_ROW} were not taken (${newest.reason ?? newest.status})`];
}

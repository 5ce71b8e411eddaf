import { secretsOpen } from '../../integrations/secrets.ts';
import { findReceivingIntegration, listIntegrations } from '../../integrations/store.ts';
import { tidings } from '../../lib/how-to-run.ts';
import { type Check, counted, databaseCheck, failed, ok, unchecked } from './check.ts';

export const secretChecks: readonly Check[] = [
  databaseCheck('stored secrets', async ({ db, secrets, config }) => {
    if (config.secretKey === null) return unchecked('SECRET_KEY');
    const integrations = await listIntegrations(db);
    if (secrets === null) {
      return integrations.length === 0
        ? ok('No secret is stored; the key for them is made at the next start')
        : failed(
            `The secrets of ${counted(integrations.length, 'integration')} cannot be read: there is no usable secret.key, and no SECRET_KEY`,
            'Put secret.key back from a backup, or set SECRET_KEY; do not start the server before',
          );
    }
    const closed: string[] = [];
    for (const { id } of integrations) {
      const stored = await findReceivingIntegration(db, id);
      if (stored !== null && !secretsOpen({ secrets }, stored)) closed.push(id);
    }
    return closed.length === 0
      ? ok(`The secrets of ${counted(integrations.length, 'integration')} open with this key`)
      : failed(
          `The secrets of ${closed.slice(0, 5).join(', ')} do not open: they were encrypted with another key`,
          `Put back the secret.key or SECRET_KEY of before; or "${tidings} integration rotate-secret" and give the provider the new one`,
        );
  }),
];

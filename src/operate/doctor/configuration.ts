import { variableNames } from '../../config.ts';
import { isLocal } from '../../integrations/doctor.ts';
import { listIntegrations } from '../../integrations/store.ts';
import { knownPublicUrl } from '../uptime/public-url.ts';
import { type Check, check, databaseCheck, failed, ok, unchecked, warning } from './check.ts';
import { misspeltVariables } from './misspelt.ts';

export const configurationChecks: readonly Check[] = [
  check('settings', ({ wrongSettings }) =>
    wrongSettings.length === 0
      ? ok('Every setting has a value that can be used')
      : failed(wrongSettings.join('; '), 'Set it right, or leave it out: the server does not start so'),
  ),

  check('variables', ({ environment }) => {
    const misspelt = misspeltVariables(variableNames(environment));
    if (misspelt.length === 0) return ok('No variable looks like a misspelt setting');
    const names = misspelt.map(({ name, meant }) => `${name} (is ${meant} meant?)`);
    return warning(`Set, and read by nobody: ${names.join(', ')}`, 'Rename it, or remove it');
  }),

  databaseCheck('public url', async ({ config, db }) => {
    const { publicUrl, port } = config;
    if (publicUrl === null) return unchecked('PUBLIC_URL');
    const set = knownPublicUrl({ publicUrl }, db);
    const shown = set ?? `http://localhost:${port ?? 'PORT'}, as PUBLIC_URL is not set`;
    if ((await listIntegrations(db)).length === 0) return ok(`Links begin with ${shown}`);
    if (set === null || isLocal(set)) {
      return warning(
        `Webhook URLs begin with ${shown}: providers on the internet cannot reach that`,
        'Set PUBLIC_URL to the https address under which the internet reaches this server',
      );
    }
    return set.startsWith('https:')
      ? ok(`Links and webhook URLs begin with ${shown}`)
      : warning(
          `Webhook URLs begin with ${shown}: without https, anybody on the way reads what is delivered`,
          'Put a reverse proxy with a certificate before the server, and set PUBLIC_URL to its https address',
        );
  }),
];

import { countKeys } from '../../keys/store.ts';
import { type Check, check, counted, databaseCheck, ok, UNKEY_SETTINGS, unchecked } from './check.ts';
import { examineUnkey } from './unkey.ts';

export const keyChecks: readonly Check[] = [
  databaseCheck('keys', async ({ db, clock, config }) => {
    if (config.unkey !== undefined) return null;
    const { all, ended } = await db.read((tx) => countKeys(tx, clock.now()));
    return ok(`${counted(all, 'API key')} in the database; ${ended} of them expired or revoked`);
  }),
  check('unkey', (patient) => {
    const { unkey } = patient.config;
    if (unkey === undefined) return null;
    return unkey === null ? unchecked(UNKEY_SETTINGS) : examineUnkey(unkey, patient);
  }),
];

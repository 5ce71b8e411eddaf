import { countKeys } from '../keys/store.ts';
import { type Check, check, counted, databaseCheck, ok } from './check.ts';
import { examineUnkey } from './unkey.ts';

export const keyChecks: readonly Check[] = [
  databaseCheck('keys', ({ db, clock, config }) => {
    if (config.unkey !== undefined) return null;
    const { all, ended } = countKeys(db, clock.now());
    return ok(`${counted(all, 'API key')} in the database; ${ended} of them expired or revoked`);
  }),
  check('unkey', ({ config: { unkey }, key }) => (unkey === undefined ? null : examineUnkey(unkey, key))),
];

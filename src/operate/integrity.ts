import { rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { findDamageInThread } from '../../db/sqlite/damage.ts';
import type { Deps } from '../deps.ts';
import { tidings } from '../lib/build.ts';
import { damagedFile, databaseFile } from './data-folder.ts';

/**
 * Looks for damage in the database in the background, after a stop that was not clean: an old log beside a newer database
 * opens like any other. A file remembers the damage, because the next stop may be clean.
 */
export function checkIntegrity(
  { log, metrics: { registry } }: Pick<Deps, 'log' | 'metrics'>,
  dataDir: string,
): { isDamaged(): boolean; stop(): void } {
  const folder = resolve(dataDir);
  let isDamaged = false;
  let leave: () => void = () => undefined;
  async function check(): Promise<void> {
    const thread = findDamageInThread(databaseFile(folder));
    leave = thread.leave;
    const damage = await thread.found;
    isDamaged = damage !== null;
    registry.gauge(
      'tidings_database_damaged',
      '1 if the check after a stop that was not clean found damage in the database.',
      () => Number(isDamaged),
    );
    if (damage === null) {
      rmSync(damagedFile(folder), { force: true });
      log.info('the database was not closed cleanly, and is intact');
      return;
    }
    log.error({ damage }, `the database is damaged; restore a backup. For details, run: ${tidings} doctor`);
    writeFileSync(damagedFile(folder), `${damage}\n`);
  }
  check().catch((error: unknown) => {
    log.error({ err: error }, 'the database could not be checked after a stop that was not clean');
  });
  return { isDamaged: () => isDamaged, stop: () => leave() };
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ReadTx } from '../../../db/engine.ts';
import { measureQueue } from '../../drafting/triggers/queue-store.ts';
import { findTroubled, listDeliveries } from '../../integrations/deliveries/log-store.ts';
import { diagnose } from '../../integrations/doctor.ts';
import { countPolls } from '../../integrations/poll-store.ts';
import { listIntegrations } from '../../integrations/store.ts';
import { findPublicUrl } from '../../integrations/uptime.ts';
import { describeFinding, type Integration } from '../../integrations/words.ts';
import { tidings } from '../../lib/build.ts';
import { openFileStore } from '../../lib/file-store.ts';
import { count } from '../../lib/text.ts';
import { DAY_MS } from '../../lib/time.ts';
import { countKeys } from '../../people/keys/store.ts';
import { fileNameOf, listMediaFiles } from '../../posts/media/store.ts';
import { providerApis } from '../../providers/index.ts';
import { listFailingHooks } from '../../readers/hooks/message-store.ts';
import { listHooks } from '../../readers/hooks/model.ts';
import { lastBackup } from '../backup/job.ts';
import { isStore } from '../backup/places.ts';
import { createElapsed, describeJump } from '../elapsed.ts';
import { planSweep } from '../sweep.ts';
import {
  type Check,
  failed,
  inDatabase,
  inDatabaseFile,
  ok,
  PROVIDER_SETTINGS,
  UNKEY_SETTINGS,
  unchecked,
  warning,
} from './check.ts';
import { examineLitestream } from './machine.ts';
import { examineUnkey } from './unkey.ts';

/** The server sweeps every five minutes; what expired this long ago, in milliseconds, should be gone. */
const UNSWEPT_MS = 3_600_000;

/** Work is done within seconds; a failure is tried again after ten minutes at the latest. */
const LATE_MS = 900_000;

/** Deliveries that failed in a row before it is no accident. */
const IN_A_ROW = 3;

/** How many integrations are named in a message. */
const MAX_NAMED = 5;

/** How many integrations are asked about at their providers; each takes some requests. */
const MAX_ASKED = 20;

/** A backup by hand is worth a reminder after so long. */
const OLD_MS = 30 * DAY_MS;

const BACKUP_ADVICE = `Fix the cause, then run: ${tidings} backup FILE`;

/** Checks of the work that the database records, and of the other services. */
export const contentChecks = {
  keys: inDatabase(async ({ db, clock, config }) => {
    if (config.unkey !== undefined) return null;
    const { all, ended } = await db.read((tx) => countKeys(tx, clock.now()));
    return ok(`${count(all, 'API key')} in the database; ${ended} of them expired or revoked`);
  }),

  unkey(patient) {
    const { unkey } = patient.config;
    if (unkey === undefined) return null;
    return unkey === null ? unchecked(UNKEY_SETTINGS) : examineUnkey(unkey, patient);
  },

  sweep: inDatabase(async ({ db, clock }) => {
    const elapsed = createElapsed({ clock });
    const { asOf } = await db.read((tx) => elapsed.planSweep(tx));
    const jump = describeJump(elapsed.jumpMs());
    if (jump !== null) return warning(jump.problem, jump.advice);
    const confirmed = new Date(asOf.getTime() - UNSWEPT_MS);
    const { deliveryIds, logs, sessions } = await planSweep({ db, elapsed }, { confirmed });
    return deliveryIds + logs + sessions === 0
      ? ok('Expired rows are removed')
      : warning(
          `${deliveryIds} delivery IDs, ${logs} log entries, and ${sessions} sessions expired over an hour ago and were not removed`,
          `Start the server, which removes them, or run "${tidings} sweep"`,
        );
  }),

  triggers: inDatabase(async ({ db, clock }) => {
    const { queued, failed, oldest } = await db.read(measureQueue);
    if (failed > 0) {
      return warning(
        `${count(failed, 'draft was', 'drafts were')} failed for good after several attempts`,
        `Run "${tidings} trigger runs" for the reasons, and "${tidings} trigger retry" to try again`,
      );
    }
    const waitedMs = oldest === null ? 0 : clock.now().getTime() - Date.parse(oldest);
    return waitedMs > LATE_MS
      ? warning(
          `${count(queued, 'draft')} in the queue, the oldest since ${oldest}`,
          `Start the server, which writes them. "${tidings} trigger runs" shows errors`,
        )
      : ok(queued === 0 ? 'No draft is in the queue' : `${count(queued, 'draft')} in the queue`);
  }),

  deliveries: inDatabase(async ({ db, clock }) => {
    const quietSince = new Date(clock.now().getTime() - DAY_MS);
    const { enabled, all, named } = await db.read(async (tx) => {
      const troubled = await findTroubled(tx, { inARow: IN_A_ROW, quietSince, limit: MAX_NAMED });
      return {
        ...troubled,
        named: await Array.fromAsync(troubled.named, (each) => describeTrouble(tx, each)),
      };
    });
    if (all === 0)
      return ok(`No integration has problems with deliveries (${count(enabled, 'integration')})`);
    const more = all > MAX_NAMED ? `; and ${all - MAX_NAMED} more` : '';
    return warning(
      named.join('; ') + more,
      `Run "${tidings} delivery list", and check the webhook's URL and secret at the provider`,
    );
  }),

  hooks: inDatabase(async ({ db, clock }) => {
    const dayAgo = new Date(clock.now().getTime() - DAY_MS);
    const { all, failing } = await db.read(async (tx) => ({
      all: (await listHooks(tx)).length,
      failing: await listFailingHooks(tx, dayAgo),
    }));
    if (all === 0) return null;
    if (failing.length === 0) return ok(`No hook has failed for a day (${count(all, 'hook')})`);
    const more = failing.length > MAX_NAMED ? ` and ${failing.length - MAX_NAMED} more` : '';
    const named = failing.slice(0, MAX_NAMED).map(({ id }) => id);
    return warning(
      `${count(failing.length, 'hook has', 'hooks have')} failed for a day or longer: ${named.join(', ')}${more}`,
      `Run "${tidings} hook messages ID" for the responses. After a fix, run "${tidings} hook resend ID"`,
    );
  }),

  polling: inDatabase(async ({ db }) => {
    const { ok: good, failing } = await db.read(countPolls);
    if (good + failing === 0) return null;
    const polled = count(good + failing, 'repository is', 'repositories are');
    return failing === 0
      ? ok(`${polled} polled without problems`)
      : warning(
          `${polled} polled; the last round of ${failing} failed or pauses`,
          `Run "${tidings} integration list" and "${tidings} integration doctor ID" for the reasons`,
        );
  }),

  /** Runs `integration doctor` for integrations whose webhooks Tidings manages. */
  providers: inDatabase(async ({ db, secrets, clock, fetch, isOffline, config }) => {
    const { publicUrl: set, port, providerApis: addresses } = config;
    if (isOffline || secrets === null) return null;
    const kept = (await db.read((tx) => listIntegrations(tx))).filter(
      ({ isManaged, isPolled, enabled }) => isManaged && !isPolled && enabled,
    );
    if (kept.length === 0) return null;
    if (addresses === null) return unchecked(PROVIDER_SETTINGS);
    if (set === null || port === null) return unchecked('PUBLIC_URL or PORT');
    const known = await findPublicUrl({ db }, { publicUrl: set });
    const publicUrl = () => known ?? `http://localhost:${port}`;
    const deps = { db, secrets, clock, fetch, publicUrl, openProviderApi: providerApis(addresses) };
    // Integrations by problem: an address that nobody answers at is reported once.
    const troubled = new Map<string, string[]>();
    for (const { id } of kept.slice(0, MAX_ASKED)) {
      const { findings } = await diagnose(deps, id);
      for (const finding of findings) {
        const message = describeFinding(finding);
        if (finding.status === 'failed') troubled.set(message, [...(troubled.get(message) ?? []), id]);
      }
    }
    const asked = count(Math.min(kept.length, MAX_ASKED), 'integration');
    if (troubled.size === 0) return ok(`The webhooks of ${asked} are correct`);
    return failed(
      Array.from(troubled, ([message, ids]) => `${ids.join(', ')}: ${message}`).join('; '),
      `Run "${tidings} integration doctor ID" for details and advice`,
    );
  }),

  backups: inDatabaseFile(async ({ folder, config: { backups }, clock }) => {
    if (backups === null) return unchecked('a BACKUP_* setting');
    const { success, failure } = await lastBackup(folder);
    const made = success === null ? 'There is no backup yet' : `The last good backup is from ${success.at}`;
    if (failure !== null) {
      return failed(`The backup of ${failure.at} failed: ${failure.error}. ${made}`, BACKUP_ADVICE);
    }
    if (success !== null && !isStore(success.file) && !existsSync(success.file)) {
      return failed(
        `The last good backup, ${success.file}, is gone`,
        `Make another backup: ${tidings} backup FILE`,
      );
    }
    if (backups !== undefined) {
      if (success === null) return ok(`${made}; the next follows the schedule ${backups.schedule} (UTC)`);
      const due = Bun.cron.parse(backups.schedule, new Date(success.at));
      const isLate = due !== null && clock.now().getTime() - due.getTime() > DAY_MS;
      return isLate
        ? warning(`${made}; one was due at ${due.toISOString()}`, 'Check whether the server was running then')
        : ok(made);
    }
    const isOld = success === null || clock.now().getTime() - Date.parse(success.at) > OLD_MS;
    return isOld
      ? warning(
          `${made}, and no schedule is set`,
          `Set BACKUP_DIR, or run "${tidings} backup FILE" regularly`,
        )
      : ok(made);
  }),

  images: inDatabase(async ({ db, folder, config: { media, database } }) => {
    if (media === null || folder === null) return unchecked('a MEDIA_* setting');
    const rows = await db.read(listMediaFiles);
    const dir = media.dir ?? join(folder, 'media');
    if (database !== undefined && !dir.startsWith('s3://')) {
      return rows.length === 0
        ? null
        : warning(
            `${count(rows.length, 'image')} in the database, but MEDIA_DIR is not set`,
            'Set MEDIA_DIR to s3://bucket/prefix',
          );
    }
    const stored = new Set((await openFileStore(dir, media.s3).list()).map(({ name }) => name));
    const missing = rows.filter((row) => !stored.has(fileNameOf(row)));
    if (missing.length === 0)
      return rows.length === 0 ? null : ok(`${count(rows.length, 'image')} in ${dir}`);
    return failed(
      `${count(missing.length, 'image')} of ${rows.length} missing in ${dir}, such as ${missing.slice(0, 3).map(fileNameOf).join(', ')}`,
      'Put the files back, restore a backup, or delete the images in the dashboard',
    );
  }),

  litestream: examineLitestream,
} satisfies Record<string, Check>;

/** The problem with the latest deliveries of an integration that has one. */
async function describeTrouble(
  tx: ReadTx,
  { id, type, organizationId }: Pick<Integration, 'id' | 'type' | 'organizationId'>,
): Promise<string> {
  const [newest] = await listDeliveries(tx, organizationId, { integrationId: id }, { limit: 1 });
  return newest === undefined
    ? `${id} (${type}): no deliveries yet`
    : `${id} (${type}): the last ${IN_A_ROW} were not accepted (${newest.reason ?? newest.status})`;
}

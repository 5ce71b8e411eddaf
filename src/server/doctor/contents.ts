import { join } from 'node:path';
import type { Database } from '../../../db/engine.ts';
import { measureQueue } from '../../drafting/triggers/queue-store.ts';
import { diagnose } from '../../integrations/doctor.ts';
import { countPolls } from '../../integrations/poll-store.ts';
import { countEnabled, listIntegrations } from '../../integrations/store.ts';
import { findPublicUrl } from '../../integrations/uptime.ts';
import { describeFinding } from '../../integrations/words.ts';
import { tidings } from '../../lib/build.ts';
import { openFileStore } from '../../lib/file-store.ts';
import { count } from '../../lib/text.ts';
import type { AttentionKind } from '../../people/attention.ts';
import { countKeys } from '../../people/keys/store.ts';
import { fileNameOf, listMediaFiles } from '../../posts/media/store.ts';
import { providerApis } from '../../providers/index.ts';
import { listHooks } from '../../readers/hooks/model.ts';
import { findInDatabase, type KindInDatabase, kindsInDatabase } from '../attention.ts';
import { describeBackupTrouble, lastBackup } from '../backup/job.ts';
import { createElapsed, describeJump } from '../elapsed.ts';
import { planSweep } from '../sweep.ts';
import {
  type Check,
  failed,
  inDatabase,
  inDatabaseFile,
  ok,
  type Patient,
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

/** How many items are named in a message. */
const MAX_NAMED = 5;

/** How many integrations are asked about at their providers; each takes some requests. */
const MAX_ASKED = 20;

/**
 * The check that reports each kind of the attention list. The compiler asks for new kinds. Null: it waits for a person, and nothing
 * is wrong.
 */
export const CHECK_OF = {
  deliveries_rejected: 'deliveries',
  no_deliveries: 'deliveries',
  silent: 'deliveries',
  webhook_off: 'deliveries',
  heartbeat_failed: 'deliveries',
  deliveries_lost: 'deliveries',
  webhook_failing: 'deliveries',
  token_refused: 'deliveries',
  token_expires: 'deliveries',
  trigger_failed: 'triggers',
  assistant_failing: 'triggers',
  schedule_late: 'schedules',
  roundup_late: 'schedules',
  approval_waiting: null,
  hook_failed: 'hooks',
  app_suspended: 'deliveries',
  polling_failing: 'polling',
  backup_failed: 'backups',
  disk_full: 'disk',
  clock_jumped: 'sweep',
  upgrade_unfinished: 'unfinished files',
  checkpoint_failing: 'checkpoints',
  job_failing: 'jobs',
  leader_missing: 'jobs',
  server_stopped: 'jobs',
} as const satisfies Record<AttentionKind, string | null>;

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
    const found = await troubleIn({ db, clock }, 'triggers');
    if (found !== null) return found;
    const { queued, oldest } = await db.read(measureQueue);
    const waitedMs = oldest === null ? 0 : clock.now().getTime() - Date.parse(oldest);
    return waitedMs > LATE_MS
      ? warning(
          `${count(queued, 'draft')} in the queue, the oldest since ${oldest}`,
          `Start the server, which writes them. "${tidings} trigger runs" shows errors`,
        )
      : ok(queued === 0 ? 'No draft is in the queue' : `${count(queued, 'draft')} in the queue`);
  }),

  deliveries: inDatabase(async ({ db, clock }) => {
    const enabled = count(await db.read(countEnabled), 'integration');
    return (
      (await troubleIn({ db, clock }, 'deliveries')) ??
      ok(`No integration has problems with deliveries (${enabled})`)
    );
  }),

  schedules: inDatabase((patient) => troubleIn(patient, 'schedules')),

  jobs: inDatabase((patient) => troubleIn(patient, 'jobs')),

  checkpoints: inDatabaseFile((patient) => troubleIn(patient, 'checkpoints')),

  hooks: inDatabase(async ({ db, clock }) => {
    const all = (await db.read((tx) => listHooks(tx))).length;
    if (all === 0) return null;
    return (await troubleIn({ db, clock }, 'hooks')) ?? ok(`No hook fails (${count(all, 'hook')})`);
  }),

  polling: inDatabase(async ({ db, clock }) => {
    const { ok: good, failing } = await db.read(countPolls);
    if (good + failing === 0) return null;
    const polled = `${count(good + failing, 'repository is', 'repositories are')} polled`;
    const found = await troubleIn({ db, clock }, 'polling');
    if (found !== null || failing === 0) return found ?? ok(`${polled} without problems`);
    return warning(
      `${polled}; the last round of ${failing} failed or pauses`,
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
    const trouble = await describeBackupTrouble({ dataDir: folder, backups }, clock.now());
    if (trouble !== null) return (trouble.isFailed ? failed : warning)(trouble.message, trouble.advice);
    const { success } = await lastBackup(folder);
    if (success !== null) return ok(`The last good backup is from ${success.at}`);
    return ok(`There is no backup yet; the next follows the schedule ${backups?.schedule} (UTC)`);
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

/** The items that a check reports, as `attention` lists them; null for none. */
async function troubleIn(
  { db, clock }: Pick<Patient, 'clock'> & { db: Pick<Database, 'read'> },
  check: NonNullable<(typeof CHECK_OF)[KindInDatabase]>,
) {
  const kinds = kindsInDatabase.filter((kind) => CHECK_OF[kind] === check);
  const items = await db.read((tx) => findInDatabase(tx, clock.now(), kinds));
  const [first] = items;
  if (first === undefined) return null;
  const more = items.length > MAX_NAMED ? `; and ${items.length - MAX_NAMED} more` : '';
  const named = items.slice(0, MAX_NAMED).map(({ message }) => message);
  const { action } = first;
  return warning(named.join('; ') + more, action.startsWith(tidings) ? `Run: ${action}` : action);
}

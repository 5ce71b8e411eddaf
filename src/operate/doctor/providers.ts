import { diagnose } from '../../integrations/doctor.ts';
import { listIntegrations } from '../../integrations/store.ts';
import { describeFinding } from '../../integrations/words.ts';
import { tidings } from '../../lib/how-to-run.ts';
import { providerApis } from '../../providers/open-api.ts';
import { knownPublicUrl } from '../uptime/public-url.ts';
import { type Check, counted, databaseCheck, failed, ok, PROVIDER_SETTINGS, unchecked } from './check.ts';

/** How many integrations are asked about at their providers; each takes some requests. */
const MAX_ASKED = 20;

/** What `integration doctor` finds for those whose webhooks Tidings keeps. */
export const providerChecks: readonly Check[] = [
  databaseCheck('providers', async (patient) => {
    const { db, secrets, clock, fetch, isOffline } = patient;
    const { publicUrl: set, port, providerApis: addresses } = patient.config;
    const kept = (await listIntegrations(db)).filter(({ hasToken, enabled }) => hasToken && enabled);
    if (kept.length === 0 || isOffline || secrets === null) return null;
    if (addresses === null) return unchecked(PROVIDER_SETTINGS);
    if (set === null || port === null) return unchecked('PUBLIC_URL or PORT');
    const publicUrl = () => knownPublicUrl({ publicUrl: set }, db) ?? `http://localhost:${port}`;
    const deps = { db, secrets, clock, fetch, publicUrl, openProviderApi: providerApis(addresses) };
    // By what is wrong: an address that nobody answers at is the trouble of them all, and told once.
    const troubled = new Map<string, string[]>();
    for (const { id } of kept.slice(0, MAX_ASKED)) {
      const { findings } = await diagnose(deps, id);
      for (const finding of findings) {
        const message = describeFinding(finding);
        if (finding.status === 'failed') troubled.set(message, [...(troubled.get(message) ?? []), id]);
      }
    }
    return troubled.size === 0
      ? ok(
          `The webhooks of ${counted(Math.min(kept.length, MAX_ASKED), 'integration')} are as they should be`,
        )
      : failed(
          Array.from(troubled, ([message, ids]) => `${ids.join(', ')}: ${message}`).join('; '),
          `"${tidings} integration doctor ID" tells more, and what to do`,
        );
  }),
];

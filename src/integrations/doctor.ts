import { listLogPage } from '../deliveries/log-store.ts';
import { type Delivery, isTaken } from '../deliveries/model.ts';
import type { Deps } from '../deps.ts';
import { tidings } from '../lib/how-to-run.ts';
import { type Check, type ProviderApi, ProviderProblem } from '../providers/api.ts';
import { providerOf } from '../providers/index.ts';
import { diagnoseHook } from './diagnose-hook.ts';
import { listHooks } from './hook-store.ts';
import { compareDeliveries } from './missed.ts';
import { type Integration, providerNames } from './model.ts';
import { checkReach } from './reach.ts';
import { getIntegration } from './store.ts';
import { findApi } from './token.ts';

export interface Diagnosis {
  integrationId: string;
  /** Whether nothing has failed; there may be warnings. */
  ok: boolean;
  checks: Check[];
}

type Needs = Pick<Deps, 'db' | 'clock' | 'secrets' | 'fetch' | 'publicUrl' | 'openProviderApi'>;

/** How many of the newest entries of the log are looked at. */
const ENTRIES = 200;

/**
 * Looks at everything that deliveries of an integration depend on: the way here, the hooks at the provider, the secret,
 * and what did not arrive. Changes nothing. Throws `AppError` 404.
 */
export async function diagnose(deps: Needs, integrationId: string): Promise<Diagnosis> {
  const integration = await getIntegration(deps.db, integrationId);
  const api = await findApi(deps, integration);
  const { organizationId } = integration;
  const { entries } = await listLogPage(deps.db, organizationId, { integrationId }, { limit: ENTRIES });
  const checks: Check[] = [
    checkEnabled(integration),
    await checkReach(deps, integration),
    ...(await checkProvider(deps, api, integration)),
    checkSecret(entries, integration),
    ...checkRepository(entries),
    ...(await checkMissed(deps, api, integration)),
  ];
  return { integrationId, ok: checks.every(({ status }) => status !== 'failed'), checks };
}

function checkEnabled({ id, enabled }: Integration): Check {
  return enabled
    ? { name: 'enabled', status: 'ok', message: 'Deliveries are taken' }
    : {
        name: 'enabled',
        status: 'failed',
        message: 'The integration is disabled: deliveries are refused with 403',
        advice: `${tidings} integration enable ${id}`,
      };
}

async function checkProvider(
  deps: Needs,
  api: ProviderApi | null,
  integration: Integration,
): Promise<Check[]> {
  const { id, type } = integration;
  if (api === null) {
    return [
      {
        name: 'hook',
        status: 'warning',
        message: `The webhook was set up by hand: what ${providerNames[type]} has cannot be looked at`,
        ...(providerOf(type).api !== null && {
          advice: `With a token it can: ${tidings} integration set-token ${id} --token TOKEN`,
        }),
      },
    ];
  }
  const checks: Check[] = [];
  for (const hook of await listHooks(deps.db, id)) {
    try {
      checks.push(...(await diagnoseHook(deps, api, integration, hook)));
    } catch (error) {
      if (!(error instanceof ProviderProblem)) throw error;
      checks.push({ name: 'hook', place: hook.placeName, status: 'failed', message: error.message });
      // The others would be told the same.
      if (['bad-token', 'rate-limited', 'provider-failed'].includes(error.kind)) break;
    }
  }
  return checks;
}

/** Whether the sender proved to hold the secret. Entries of older versions have no headers. */
function isVerified({ headers, status }: Delivery): boolean {
  return headers !== null || isTaken(status);
}

/** Whether what came lately was signed with the right secret. */
function checkSecret(entries: readonly Delivery[], { id, type }: Integration): Check {
  const verified = entries.find(isVerified);
  const refused = entries.find(({ statusCode }) => statusCode === 401);
  if (refused !== undefined && (verified === undefined || refused.createdAt > verified.createdAt)) {
    return {
      name: 'secret',
      status: 'failed',
      message:
        `The newest delivery was refused for its signature, at ${refused.createdAt}. ${refused.reason ?? ''}`.trim(),
      advice: `${tidings} integration rotate-secret ${id}`,
    };
  }
  if (verified === undefined) {
    return {
      name: 'secret',
      status: 'warning',
      message: 'No delivery has come yet that would show that the secret is right',
      advice: `Let ${providerNames[type]} send one, or try the way here: ${tidings} send ${type} ${providerOf(type).exampleEvent} --integration ${id}`,
    };
  }
  return {
    name: 'secret',
    status: 'ok',
    message: `The newest delivery, at ${verified.createdAt}, was signed with the right secret`,
  };
}

/** The newest delivery that was refused because it is about another repository than its URL; none: nothing to say. */
function checkRepository(entries: readonly Delivery[]): Check[] {
  const refused = entries.find(
    ({ status, statusCode, payload }) =>
      status === 'rejected' && statusCode === 403 && payload.data?.repository !== undefined,
  );
  if (refused === undefined) return [];
  const { repositoryId, createdAt, reason } = refused;
  const newest = entries.find((entry) => entry.repositoryId === repositoryId && isVerified(entry));
  return [
    {
      name: 'repository',
      status: newest === refused ? 'failed' : 'warning',
      message: `A delivery about another repository was refused, at ${createdAt}. ${reason}`,
    },
  ];
}

async function checkMissed(deps: Needs, api: ProviderApi | null, integration: Integration): Promise<Check[]> {
  if (api?.listAttempts === undefined) return [];
  try {
    const { counts, missed, since, untold } = await compareDeliveries(deps, integration.id);
    if (untold.length > 0 && missed.length === 0) {
      const places = untold.map(({ place }) => place).join(', ');
      return [{ name: 'missed', status: 'warning', message: `What is missing at ${places} is not known` }];
    }
    if (counts.arrived + missed.length === 0) {
      return [
        {
          name: 'missed',
          status: 'ok',
          message: `${providerNames[integration.type]} has delivered nothing but pings since ${since}`,
        },
      ];
    }
    const told = `${counts.arrived} arrived, ${counts.failed} failed, ${counts['never-arrived']} never arrived since ${since}`;
    if (missed.length === 0)
      return [{ name: 'missed', status: 'ok', message: `No delivery is missing: ${told}` }];
    return [
      {
        name: 'missed',
        status: 'failed',
        message: `${missed.length === 1 ? '1 delivery is' : `${missed.length} deliveries are`} missing: ${told}`,
        advice: `${tidings} integration missed ${integration.id} --redeliver`,
        missed,
      },
    ];
  } catch (error) {
    if (!(error instanceof ProviderProblem)) throw error;
    return [{ name: 'missed', status: 'warning', message: `What is missing is not known: ${error.message}` }];
  }
}

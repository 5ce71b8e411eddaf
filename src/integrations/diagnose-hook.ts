import { findPing } from '../deliveries/log-store.ts';
import type { Deps } from '../deps.ts';
import { tidings } from '../lib/how-to-run.ts';
import type { Check, Hook, ProviderApi, RemoteHook } from '../providers/api.ts';
import { type Integration, providerNames } from './model.ts';
import { sayAnswer } from './say-answer.ts';
import { urlOf, wishFor } from './wish.ts';

type Needs = Pick<Deps, 'db' | 'secrets' | 'publicUrl'>;

/** What the provider has, against what it should have. Throws `ProviderProblem`. */
export async function diagnoseHook(
  deps: Needs,
  api: ProviderApi,
  integration: Integration,
  hook: Hook,
): Promise<Check[]> {
  const repair = `${tidings} integration repair ${integration.id}`;
  const check = (status: Check['status'], message: string, advice?: string): Check => ({
    name: 'hook',
    place: hook.placeName,
    status,
    message,
    ...(advice === undefined ? {} : { advice }),
  });
  if (hook.remoteId === null) {
    return [
      check(
        'failed',
        `The webhook is not there yet${hook.problem === null ? '' : `: ${hook.problem}`}`,
        repair,
      ),
    ];
  }
  const remote = await api.findHook(hook.placeId, hook.remoteId);
  if (remote === null) {
    return [check('failed', `Somebody deleted the webhook ${hook.remoteId} there`, repair)];
  }
  const wrong = await differences(deps, integration, hook, remote);
  const state =
    wrong.length === 0
      ? check('ok', `The webhook ${remote.id} is active and delivers ${remote.events.join(', ')}`)
      : check('failed', `The webhook ${remote.id} ${wrong.join('; it ')}`, repair);
  const waiting =
    hook.problem === null
      ? []
      : [check('warning', `What was last tried there failed: ${hook.problem}`, repair)];
  return [state, ...waiting, ...(await checkPing(deps, api, integration, hook, remote))];
}

async function differences(
  deps: Needs,
  integration: Integration,
  hook: Hook,
  remote: RemoteHook,
): Promise<string[]> {
  const { events } = await wishFor(deps, integration, hook);
  const url = urlOf(deps, integration, hook);
  const missing = remote.events.includes('*') ? [] : events.filter((event) => !remote.events.includes(event));
  return [
    ...(remote.isActive ? [] : ['is switched off']),
    ...(remote.url === url ? [] : [`delivers to ${remote.url}, not to ${url}`]),
    ...(missing.length === 0 ? [] : [`does not deliver ${missing.join(', ')}, which triggers need`]),
    ...(remote.isJson === false ? ['delivers forms; JSON is what it should'] : []),
    ...(remote.hasSecret === false ? ['has no secret'] : []),
    ...(hook.hasPresentSecret ? [] : ['was not given the present secret yet']),
  ];
}

/** The last ping that arrived, and what the provider says of its last delivery. */
async function checkPing(
  { db }: Needs,
  { pingHook }: ProviderApi,
  { type }: Integration,
  { integrationId, repositoryId, placeName: place }: Hook,
  { lastResponse }: RemoteHook,
): Promise<Check[]> {
  const checks: Check[] = [];
  if (lastResponse !== null) {
    const { statusCode, message } = lastResponse;
    const said = sayAnswer(statusCode, message);
    const isWell = statusCode !== null && statusCode < 300;
    const told = `${providerNames[type]} says of its last delivery: ${said}`;
    checks.push({ name: 'last-delivery', place, status: isWell ? 'ok' : 'failed', message: told });
  }
  if (pingHook === undefined) return checks;
  const ping = await findPing(db, integrationId, repositoryId, new Date(0));
  checks.push(
    ping === null
      ? {
          name: 'ping',
          place,
          status: 'warning',
          message: 'The log holds no ping',
          advice: `${tidings} integration repair ${integrationId}`,
        }
      : { name: 'ping', place, status: 'ok', message: `The last ping arrived at ${ping.createdAt}` },
  );
  return checks;
}

import type { Clock } from '../../../src/lib/time.ts';
import { canSee, wantsSso } from './access.ts';
import type { Apps } from './apps.ts';
import { type Delivery, deliver } from './deliver.ts';
import type { countRequests } from './limits.ts';
import { refusals } from './refusal.ts';
import type { StoredHook, StoredRepository, StoredToken } from './state.ts';

/** The state of the stand-in. */
export interface World {
  /** The API's address. */
  readonly url: string;
  readonly clock: Clock;
  /** True when webhooks may have URLs of this machine. */
  readonly allowLocal: boolean;
  readonly budget: ReturnType<typeof countRequests>;
  readonly tokens: Map<string, StoredToken>;
  readonly repositories: StoredRepository[];
  readonly apps: Apps;
  /** Deliveries on their way. */
  readonly pending: Set<Promise<unknown>>;
}

/** The repository of a path, if the token may see it. Throws as GitHub does: not found, moved, or single sign-on. */
export function repositoryAt(world: World, path: string, search: string, method: string, token: StoredToken) {
  const [, , owner, name, ...rest] = path.split('/');
  const full = `${owner}/${name}`.toLowerCase();
  const found = world.repositories.find((each) => each.name.toLowerCase() === full);
  const former = world.repositories.find((each) =>
    each.formerNames.some((one) => one.toLowerCase() === full),
  );
  const repository = found ?? former;
  if (repository === undefined || !canSee(token, repository)) throw refusals.notFound();
  if (wantsSso(token, repository)) throw refusals.sso(repository.name.split('/')[0] ?? '');
  if (found !== undefined) return found;
  const target = [`${world.url}/repositories/${repository.id}`, ...rest].join('/');
  throw refusals.moved(target + search, method === 'GET' ? 301 : 307);
}

/** A path as the description has it. A redirect to a renamed repository names it by its number. */
export function describedPath(world: World, path: string): string {
  return path.replace(/^\/repositories\/(\d+)/, (whole, id) => {
    const repository = world.repositories.find((each) => String(each.id) === id);
    return repository === undefined ? whole : `/repos/${repository.name}`;
  });
}

/** Delivers after the response to the request that caused it. */
export function deliverSoon(
  world: World,
  target: Parameters<typeof deliver>[0],
  hook: StoredHook,
  delivery: Delivery,
): void {
  const sending = deliver(target, hook, delivery, world.clock).finally(() => world.pending.delete(sending));
  world.pending.add(sending);
}

import type { Clock } from '../../../src/lib/clock.ts';
import { canSee, wantsSso } from './access.ts';
import { type Delivery, deliver } from './deliver.ts';
import { refusals } from './refusal.ts';
import type { StoredHook, StoredRepository, StoredToken } from './state.ts';

/** All that the stand-in keeps. */
export interface World {
  /** The API's address. */
  readonly url: string;
  readonly clock: Clock;
  /** True if webhooks may point to this machine. */
  readonly allowLocal: boolean;
  readonly tokens: Map<string, StoredToken>;
  readonly repositories: StoredRepository[];
  /** Deliveries in progress. */
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

/** A path as it is described. A repository that was renamed is known by its number, too. */
export function describedPath(world: World, path: string): string {
  return path.replace(/^\/repositories\/(\d+)/, (whole, id) => {
    const repository = world.repositories.find((each) => String(each.id) === id);
    return repository === undefined ? whole : `/repos/${repository.name}`;
  });
}

/** Sends after the answer to whoever asked for it. */
export function deliverSoon(
  world: World,
  repository: StoredRepository,
  hook: StoredHook,
  delivery: Delivery,
): void {
  const sending = deliver(repository, hook, delivery, world.clock).finally(() =>
    world.pending.delete(sending),
  );
  world.pending.add(sending);
}

import { refusals } from './refusal.ts';
import type { HookConfig, StoredHook, StoredRepository } from './state.ts';

/** The body of a request that makes or changes a hook, as far as GitHub's description lets it through. */
export interface HookBody {
  config?: Partial<HookConfig>;
  events?: string[];
  add_events?: string[];
  remove_events?: string[];
  active?: boolean;
}

const MAX_HOOKS = 20;
let lastId = 603_157_400;

/** Makes a hook. Throws GitHub's 422. */
export function makeHook(
  repository: StoredRepository,
  { config = {}, events = ['push'], active = true }: HookBody,
  now: string,
  allowLocal: boolean,
): StoredHook {
  const hook: StoredHook = {
    id: ++lastId,
    config: configOf(config, allowLocal),
    events,
    isActive: active,
    createdAt: now,
    updatedAt: now,
    lastResponse: { code: null, status: 'unused', message: null },
    attempts: [],
  };
  requireRoom(repository, hook);
  repository.hooks.push(hook);
  return hook;
}

/** Changes a hook. A `config` replaces the whole of it: what is left out, such as the secret, is gone. */
export function changeHook(
  repository: StoredRepository,
  hook: StoredHook,
  { config, events = hook.events, add_events = [], remove_events = [], active = hook.isActive }: HookBody,
  now: string,
  allowLocal: boolean,
): void {
  const changed = {
    ...hook,
    config: config === undefined ? hook.config : configOf(config, allowLocal),
    events: [...new Set([...events, ...add_events])].filter((event) => !remove_events.includes(event)),
    isActive: active,
    updatedAt: now,
  };
  requireRoom(repository, changed);
  Object.assign(hook, changed);
}

function configOf({ url, secret, ...config }: Partial<HookConfig>, allowLocal: boolean): HookConfig {
  if (url === undefined || url === '') throw refusals.noUrl();
  const { hostname } = new URL(url);
  if (!allowLocal && isLocal(hostname)) throw refusals.unreachable(hostname);
  return {
    content_type: config.content_type ?? 'form',
    insecure_ssl: String(config.insecure_ssl ?? '0'),
    url,
    ...(secret !== undefined && secret !== '' && { secret }),
  };
}

function isLocal(hostname: string): boolean {
  return /^(localhost|.*\.localhost|\[::1\]|0\..*|127\..*|10\..*|192\.168\..*)$/.test(hostname);
}

/** GitHub takes a URL once for an event, and at most 20 hooks for each. */
function requireRoom(repository: StoredRepository, hook: Omit<StoredHook, 'attempts'>): void {
  const others = repository.hooks.filter(({ id }) => id !== hook.id);
  const overlaps = (other: StoredHook) => other.events.some((event) => hook.events.includes(event));
  if (others.some((other) => other.config.url === hook.config.url && overlaps(other)))
    throw refusals.hookExists();
  for (const event of hook.events) {
    const count = others.filter(({ events }) => events.includes(event)).length;
    if (count >= MAX_HOOKS) throw refusals.tooManyHooks(event);
  }
}

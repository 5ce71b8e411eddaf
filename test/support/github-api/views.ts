import { description } from './contract.ts';
import type { StoredAttempt, StoredHook, StoredRepository } from './state.ts';

// The stored state as GitHub's responses show it.

declare global {
  interface JSON {
    /** A number as it is written, whatever its size. */
    rawJSON(text: string): unknown;
  }
}

const EXAMPLE = JSON.stringify(description.repository);
const [, EXAMPLE_NAME = ''] = String(description.repository.full_name).split('/');
const EXAMPLE_OWNER = /^[^/]+/.exec(String(description.repository.full_name))?.[0] ?? '';

/** GitHub's own example of a repository, with the addresses of this one. */
export function repositoryView(repository: StoredRepository, user: string): object {
  const [owner = '', name = ''] = repository.name.split('/');
  const text = EXAMPLE.replaceAll(EXAMPLE_NAME, name).replaceAll(EXAMPLE_OWNER, owner);
  const right = repository.rights[user];
  const push = right === 'admin' || right === 'write';
  return {
    ...(JSON.parse(text) as object),
    // GitHub's example lacks what its own description requires.
    language: null,
    id: repository.id,
    default_branch: repository.defaultBranch,
    private: repository.isPrivate,
    visibility: repository.isPrivate ? 'private' : 'public',
    archived: repository.isArchived,
    permissions: { admin: right === 'admin', maintain: push, push, triage: push, pull: true },
  };
}

/** A hook with its secret masked. `api` is the API's address. */
export function hookView(api: string, repository: StoredRepository, hook: StoredHook): object {
  const url = `${api}/repos/${repository.name}/hooks/${hook.id}`;
  const { secret, ...config } = hook.config;
  return {
    type: 'Repository',
    id: hook.id,
    name: 'web',
    active: hook.isActive,
    events: hook.events,
    config: { ...config, ...(secret !== undefined && { secret: '********' }) },
    updated_at: hook.updatedAt,
    created_at: hook.createdAt,
    url,
    test_url: `${url}/test`,
    ping_url: `${url}/pings`,
    deliveries_url: `${url}/deliveries`,
    last_response: hook.lastResponse,
  };
}

export function attemptView(repository: Pick<StoredRepository, 'id'>, attempt: StoredAttempt): object {
  return {
    // JavaScript's numbers would round it.
    id: JSON.rawJSON(String(attempt.id)),
    guid: attempt.guid,
    delivered_at: attempt.deliveredAt,
    redelivery: attempt.isRedelivery,
    duration: attempt.durationSeconds,
    status: attempt.status,
    status_code: attempt.statusCode,
    event: attempt.event,
    action: typeof attempt.payload.action === 'string' ? attempt.payload.action : null,
    installation_id: null,
    repository_id: repository.id,
    throttled_at: null,
  };
}

/** A page of a list with its `link` header, by page number as in most lists of GitHub. */
export function pageOf<Item>(
  list: readonly Item[],
  url: URL,
): { items: Item[]; headers: Record<string, string> } {
  const { perPage, page } = { perPage: sizeOf(url), page: Number(url.searchParams.get('page') ?? 1) };
  const items = list.slice((page - 1) * perPage, page * perPage);
  const hasMore = list.length > page * perPage;
  return { items, headers: hasMore ? nextLink(url, 'page', String(page + 1)) : {} };
}

/** The page of attempts that starts at `cursor`. */
export function attemptPageOf(attempts: readonly StoredAttempt[], url: URL) {
  const cursor = url.searchParams.get('cursor');
  const start = cursor === null ? 0 : attempts.findIndex(({ id }) => `v1_${id}` === cursor);
  const perPage = sizeOf(url);
  const next = attempts[start + perPage];
  return {
    items: attempts.slice(start, start + perPage),
    headers: next === undefined ? {} : nextLink(url, 'cursor', `v1_${next.id}`),
  };
}

export const sizeOf = (url: URL) => Math.min(Number(url.searchParams.get('per_page') ?? 30), 100);

export function nextLink(url: URL, name: string, value: string): Record<string, string> {
  const next = new URL(url);
  next.searchParams.set(name, value);
  return { link: `<${next}>; rel="next"` };
}

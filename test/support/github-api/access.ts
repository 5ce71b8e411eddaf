import { refusals } from './refusal.ts';
import type { StoredRepository, StoredToken } from './state.ts';

/** Scopes with which a classic token may read webhooks, and change them. */
const SCOPES = {
  read: ['admin:repo_hook', 'public_repo', 'read:repo_hook', 'repo', 'write:repo_hook'],
  write: ['admin:repo_hook', 'public_repo', 'repo', 'write:repo_hook'],
};

/** A level of the permission "Webhooks". */
export type Access = keyof typeof SCOPES;

export function isKnown(authorization: string | null, tokens: ReadonlyMap<string, StoredToken>): boolean {
  return authorization !== null && tokens.has(valueIn(authorization));
}

const valueIn = (authorization: string) => authorization.replace(/^(token|bearer) /i, '');

/** The permission that reading a repository needs. Everyone reads a public one. */
export type Reading = 'metadata' | 'contents' | 'pull_requests';

const NOBODY: StoredToken = { user: '', scopes: [] };

/** The token of a request; with `isPublic` none is needed. Throws GitHub's 401. */
export function tokenOf(
  authorization: string | null,
  tokens: ReadonlyMap<string, StoredToken>,
  isPublic: boolean,
): StoredToken {
  if (authorization === null && isPublic) return NOBODY;
  if (authorization === null) throw refusals.requiresAuthentication();
  const token = tokens.get(valueIn(authorization));
  if (token === undefined) throw refusals.badCredentials();
  return token;
}

export function canSee(token: StoredToken, repository: StoredRepository): boolean {
  if (!repository.isPrivate) return true;
  if (token.installation !== undefined) return token.installation.repositoryIds.includes(repository.id);
  const isChosen = token.repositories?.includes(repository.name) ?? true;
  const hasScope = token.scopes === undefined || token.scopes.includes('repo');
  return isChosen && hasScope && repository.rights[token.user] !== undefined;
}

export function wantsSso(token: StoredToken, repository: StoredRepository): boolean {
  return repository.wantsSso && token.scopes !== undefined && token.hasSso !== true;
}

/** Throws as GitHub does: 403 for a fine-grained token's permission, 404 for a classic one's scope and for the right. */
export function requireHooks(token: StoredToken, repository: StoredRepository, access: Access): void {
  const isAdmin = repository.rights[token.user] === 'admin';
  if (token.scopes !== undefined) {
    if (!token.scopes.some((scope) => SCOPES[access].includes(scope)) || !isAdmin) throw refusals.notFound();
    return;
  }
  const permission = token.permissions?.repository_hooks;
  const isChosen = token.repositories?.includes(repository.name) ?? true;
  const isEnough = permission === 'write' || permission === access;
  if (!isChosen || !isEnough) throw refusals.noPermission();
  if (!isAdmin) throw refusals.notFound();
}

/** Throws GitHub's 403 for a fine-grained token that lacks the permission. */
export function requireReading(token: StoredToken, repository: StoredRepository, reading: Reading): void {
  const isFree = !repository.isPrivate || reading === 'metadata' || token.scopes !== undefined;
  if (!isFree && token.permissions?.[reading] === undefined) throw refusals.noPermission();
}

/** Writers see drafts of releases. */
export function canWrite(token: StoredToken, { rights }: StoredRepository): boolean {
  const right = rights[token.user];
  const mayWrite =
    token.scopes === undefined ? token.permissions?.contents === 'write' : token.scopes.includes('repo');
  return mayWrite && (right === 'admin' || right === 'write');
}

/** GitHub's headers for the scopes of a token, and those that the route accepts. */
export function accessHeaders(
  token: StoredToken | null,
  access: Access | null,
  reading: Reading = 'metadata',
): Record<string, string> {
  const permission = access === null ? `${reading}=read` : `repository_hooks=${access}`;
  return {
    'x-accepted-github-permissions': permission,
    ...(token?.expiresAt !== undefined &&
      token.installation === undefined && {
        'github-authentication-token-expiration': new Date(token.expiresAt)
          .toISOString()
          .replace(/^(.{10})T(.{8}).*$/, '$1 $2 UTC'),
      }),
    ...(token?.scopes !== undefined &&
      token !== NOBODY && {
        'x-oauth-scopes': token.scopes.join(', '),
        'x-accepted-oauth-scopes': access === null ? 'repo' : SCOPES[access].join(', '),
      }),
  };
}

import { invalidField } from '../lib/app-error.ts';

const MAX_LENGTH = 2_000;

/** `https://host/…` or `ssh://git@host:22/…`, `git@host:…`, or `host.example/owner/name` without a scheme. */
const URL_FORMS = [
  /^[a-z][a-z+.-]*:\/\/(?:[^@/\s]*@)?(?<host>[^/:@\s]+)(?::\d+)?(?:\/(?<path>\S*))?$/i,
  /^[^@/:\s]+@(?<host>[^/:@\s]+):(?<path>\S*)$/,
  /^(?<host>[\w-]+(?:\.[\w-]+)+)(?::\d+)?\/(?<path>[^/\s]+\/\S+)$/,
];

/**
 * The name of a repository that a person typed or pasted: `owner/name` from its URL, other text as it is. `host`: the site
 * of the repositories. `advice`: for a URL of another site. `isNested`: an owner may be a group in others, as in
 * `group/subgroup/name`. Throws `AppError` 400 for a URL of another site or of no repository, and repeats nothing of it,
 * since a URL can hold a token.
 */
export function repositoryName(text: string, host: string, { isNested = false, advice = '' } = {}): string {
  const given = text.trim();
  const hasHostOnly = given.toLowerCase().startsWith(`${host}/`);
  const url = hasHostOnly ? `https://${given}` : given;
  const parts = URL_FORMS.map((form) => form.exec(url.slice(0, MAX_LENGTH))?.groups).find(Boolean);
  if (parts === undefined) return given;
  // GitLab's pages of a project are below `/-/`.
  const path = (parts.path ?? '').replace(/[?#].*$/, '').replace(/\/-(?:\/.*)?$/, '');
  const names = path.split('/').filter(Boolean);
  const used = isNested ? names : names.slice(0, 2);
  const repository = used.join('/').replace(/\.git$/, '');
  if (used.length > 1 && !repository.endsWith('/') && isSite(parts.host ?? '', host)) return repository;
  throw invalidField('repository', `must be OWNER/NAME or the URL of a repository at ${host}${advice}`);
}

/** Some sites also use `www.` and, for SSH behind a firewall, `ssh.`. */
function isSite(actual: string, host: string): boolean {
  return actual.toLowerCase().replace(/^(?:www|ssh)\./, '') === host;
}

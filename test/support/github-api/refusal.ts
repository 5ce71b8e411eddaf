/** A refusal of GitHub's API. */
export class GithubRefusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly more: { headers?: Record<string, string>; errors?: readonly object[]; body?: object } = {},
  ) {
    super(message);
  }

  body(): object {
    const { errors, body } = this.more;
    const documentation_url = 'https://docs.github.com/rest';
    return {
      message: this.message,
      ...(errors && { errors }),
      documentation_url,
      status: String(this.status),
      ...body,
    };
  }
}

const hookError = (message: string, field?: string) =>
  new GithubRefusal(422, 'Validation Failed', {
    errors: [{ resource: 'Hook', code: 'custom', ...(field !== undefined && { field }), message }],
  });

export const refusals = {
  badCredentials: () => new GithubRefusal(401, 'Bad credentials'),
  requiresAuthentication: () => new GithubRefusal(401, 'Requires authentication'),
  notFound: () => new GithubRefusal(404, 'Not Found'),
  emptyRepository: () => new GithubRefusal(409, 'Git Repository is empty.'),
  noCommonAncestor: (basehead: string) =>
    new GithubRefusal(404, `No common ancestor between ${basehead.replace('...', ' and ')}.`),
  noPermission: () => new GithubRefusal(403, 'Resource not accessible by personal access token'),
  archived: () => new GithubRefusal(403, 'Repository was archived so is read-only.'),
  sso: (organization: string) =>
    new GithubRefusal(
      403,
      'Resource protected by organization SAML enforcement. You must grant your Personal Access token access to this organization.',
      {
        headers: {
          'x-github-sso': `required; url=https://github.com/orgs/${organization}/sso?authorization_request=A1B2C3`,
        },
      },
    ),
  moved: (url: string, status: 301 | 307) =>
    new GithubRefusal(status, status === 301 ? 'Moved Permanently' : 'Temporary Redirect', {
      headers: { location: url },
      body: { url },
    }),
  hookExists: () => hookError('Hook already exists on this repository'),
  tooManyHooks: (event: string) => hookError(`The "${event}" event cannot have more than 20 hooks`),
  noUrl: () => hookError('Config must contain URL for webhooks'),
  unreachable: (host: string) =>
    hookError(`url is not supported because it isn't reachable over the public Internet (${host})`, 'url'),
};

/** Error responses of Unkey's API v2. */
export class UnkeyRefusal extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    /** The end of the address under which Unkey explains the error. */
    readonly type: string,
    readonly detail: string,
    /** Only for a 400: the fields that are wrong. */
    readonly errors?: readonly { location: string; message: string }[],
    readonly headers: Record<string, string> = {},
  ) {
    super(detail);
  }

  /** The JSON form that every refusal of Unkey has. */
  toResponse(requestId: string): Response {
    const { status, title, type, detail, errors, headers } = this;
    const error = { detail, status, title, type: `https://unkey.com/docs/errors/${type}`, errors };
    return Response.json({ meta: { requestId }, error }, { status, headers });
  }
}

export const refusals = {
  badBody: (errors: readonly { location: string; message: string }[]) =>
    new UnkeyRefusal(
      400,
      'Bad Request',
      'unkey/application/invalid_input',
      'One or more fields failed validation',
      errors,
    ),
  malformedAuthorization: () =>
    new UnkeyRefusal(
      400,
      'Bad Request',
      'unkey/authentication/malformed',
      "Your authorization header is missing the 'Bearer ' prefix.",
      [],
    ),
  unknownRootKey: () =>
    new UnkeyRefusal(
      401,
      'Unauthorized',
      'unkey/authentication/key_not_found',
      'The provided root key is invalid.',
    ),
  noPermission: (action: string, apiId: string) =>
    new UnkeyRefusal(
      403,
      'Insufficient Permissions',
      'unkey/authorization/insufficient_permissions',
      `Missing one of these permissions: Missing permission: 'api.*.${action}' or Missing permission: 'api.${apiId}.${action}'`,
    ),
  unknownKey: () =>
    new UnkeyRefusal(404, 'Not Found', 'unkey/data/key_not_found', 'We could not find the requested key.'),
  unknownApi: () =>
    new UnkeyRefusal(404, 'Not Found', 'unkey/data/api_not_found', 'The specified API was not found.'),
  unknownPath: () => new UnkeyRefusal(404, 'Not Found', 'unkey/data/not_found', 'There is no such endpoint.'),
  tooMany: () =>
    new UnkeyRefusal(
      429,
      'Too Many Requests',
      'user/too_many_requests/workspace_rate_limited',
      'This workspace has exceeded its API rate limit of 600/1m0s. Please try again later.',
      undefined,
      {
        'ratelimit-limit': '600',
        'ratelimit-remaining': '0',
        'ratelimit-reset': '17',
        'retry-after': '17',
      },
    ),
  broken: () =>
    new UnkeyRefusal(
      500,
      'Internal Server Error',
      'unkey/application/unexpected_error',
      'An internal error occurred.',
    ),
};

import { GraphQLError } from 'graphql';

/** A refusal of Linear's, in its own words where they are known. */
function refusal(message: string, type: string, code: string, statusCode: number, presentable: string) {
  return new GraphQLError(message, {
    extensions: {
      type,
      code,
      statusCode,
      userError: statusCode < 500,
      userPresentableMessage: presentable,
    },
  });
}

const input = (message: string, presentable: string) =>
  refusal(message, 'invalid input', 'INPUT_ERROR', 400, presentable);

export const refusals = {
  notAuthenticated: () =>
    refusal(
      'Authentication required, not authenticated',
      'authentication error',
      'AUTHENTICATION_ERROR',
      401,
      'You need to authenticate to access this operation.',
    ),
  keyAsBearer: () =>
    refusal(
      "It looks like you're trying to use an API key as a Bearer token. Remove the Bearer prefix from the Authorization header.",
      'authentication error',
      'AUTHENTICATION_ERROR',
      401,
      'You need to authenticate to access this operation.',
    ),
  noAdmin: () =>
    refusal(
      'Invalid role: admin required',
      'forbidden',
      'FORBIDDEN',
      403,
      'You need to have the "Admin" scope to create webhooks.',
    ),
  noScope: (scope: string) =>
    refusal(
      `Invalid scope: \`${scope}\` required`,
      'forbidden',
      'FORBIDDEN',
      403,
      `The scope ${scope} is required.`,
    ),
  notFound: (entity: 'Webhook' | 'Team') =>
    input(`Entity not found: ${entity}`, `Could not find referenced ${entity}.`),
  urlNotUnique: () => input('url not unique', 'A webhook with this URL exists already.'),
  badArgument: (presentable: string) => input('Argument Validation Error', presentable),
  rateLimited: () =>
    refusal(
      'Rate limit exceeded. Only 2500 requests are allowed per 1 hour.',
      'ratelimited',
      'RATELIMITED',
      429,
      'Rate limit exceeded.',
    ),
  usageLimit: () =>
    refusal(
      'Usage limit exceeded',
      'usage limit exceeded',
      'USAGE_LIMIT_EXCEEDED',
      400,
      'You have reached the limit of webhooks.',
    ),
  internal: () =>
    refusal(
      'Internal server error',
      'internal error',
      'INTERNAL_SERVER_ERROR',
      500,
      'An unexpected error occurred.',
    ),
  featureNotAccessible: () =>
    refusal(
      'Feature not accessible',
      'feature not accessible',
      'FEATURE_NOT_ACCESSIBLE',
      400,
      'Your plan does not include webhooks.',
    ),
};

import { ALL_PUBLIC_TEAMS } from '../../api.ts';

/** The sentences of Linear's problems: what happened, then what to do. A `reason` is Linear's own. */
export const words = {
  notEncrypted: () => 'LINEAR_API_URL must be an https URL, or one of this machine.',

  failedStatus: (status: number) => `Linear failed with status ${status}. Try again later.`,
  failed: (reason: string) => `Linear failed: ${reason}. Try again later.`,
  noSuccess: () => 'Linear rejected the request without a reason. Try again later.',
  rateLimited: (retryAt: Date | null) =>
    retryAt === null
      ? 'Linear accepts no more requests from this token for now. Try again in a few minutes.'
      : `Linear accepts no more requests from this token until ${retryAt.toISOString().replace('.000Z', 'Z')}. Try again then.`,
  refused: (reason: string) => `Linear rejected the request: ${reason}.`,

  badToken: () =>
    'Linear rejected the token: it is unknown, revoked or expired. Create a new API key at https://linear.app/settings/account/security.',
  adminsOnly: () =>
    "The token can't manage webhooks: at Linear, only workspace admins can (OAuth: the scope admin). Ask an admin for an API key.",
  noPermission: (reason: string) =>
    `The token lacks a permission. Linear says: ${reason}. Ask a workspace admin for an API key.`,

  noTeam: () => 'The token cannot see this Linear team, or it does not exist.',
  noTeamNamed: (name: string) =>
    `The token cannot see a Linear team ${name}. Enter a team's key, such as ENG, its name, its ID, or ${ALL_PUBLIC_TEAMS}.`,
  severalTeams: (name: string, labels: string) =>
    `Several Linear teams match ${name}: ${labels}. Enter one of these in full.`,
  noHook: () => 'The webhook no longer exists at Linear.',
  hookExists: () =>
    'Linear has a webhook with this URL there already. Delete it at https://linear.app/settings/api, or take it over.',
  tooManyHooks: (reason: string) => `Linear rejected another webhook: ${reason}.`,
  unreachableUrl: (reason: string) =>
    `Linear rejected the webhook's URL: ${reason}. Set PUBLIC_URL to a public https URL.`,
};

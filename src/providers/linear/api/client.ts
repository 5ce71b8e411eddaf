import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { DAY_MS } from '../../../lib/time.ts';
import { ALL_PUBLIC_TEAMS, type ProblemKind, ProviderProblem } from '../../api.ts';
import { type ApiResponse, type ApiService, apiFetch, notTheApi, numberIn, serviceAt } from '../../rest.ts';

// Not `@linear/sdk`: it has 3 MB, and its queries fetch webhooks with their secrets. Tests check our documents against its schema.

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
  fewLeft: () =>
    "Less than a tenth of the token's hourly limit at Linear is left, and Tidings leaves it to others.",
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

/** Linear counts requests and their complexity, for a token and for a kind of request; resets are in milliseconds. */
const BUDGETS = ['requests', 'complexity', 'endpoint-requests'];

/** The part of a limit that reading leaves to others who use the token. */
const SPARED = 0.1;

/** The longest wait that Tidings believes: Linear's windows are an hour long. */
const MAX_WAIT_MS = DAY_MS;

/** The latest time that a `Date` can hold. */
const MAX_TIME = 8_640_000_000_000_000;

const MAX_REASON_LENGTH = 200;

/** The first GraphQL error of a response. Not every error has a code, so the message decides too. */
interface GraphqlError {
  type: string;
  code: string;
  message: string;
  /** Linear's sentence for people. */
  presentable: string;
}

/** The problem behind a response without the data. Hides the secrets, which GraphQL errors quote. */
export function problemOf(
  { status, headers, json }: ApiResponse,
  { service, secrets }: { service: ApiService; secrets: readonly string[] },
): ProviderProblem {
  const error = firstErrorIn(json);
  if (error?.code === 'RATELIMITED' || error?.type === 'ratelimited' || status === 429) {
    const retryAt = retryAtOf(headers);
    return new ProviderProblem('rate-limited', words.rateLimited(retryAt), { retryAt });
  }
  if (error !== null) return new ProviderProblem(...meaningOf(error, status, reasonOf(error, secrets)));
  if (status === 401) return new ProviderProblem('bad-token', words.badToken());
  if (status >= 500) return new ProviderProblem('provider-failed', words.failedStatus(status));
  return notTheApi(service, `it sent an unexpected response with status ${status}`);
}

function meaningOf(error: GraphqlError, status: number, reason: string): [ProblemKind, string] {
  const { type, code, message, presentable } = error;
  const isAccess = /invalid (scope|role)/i.test(message);
  if (isAccess && /admin/i.test(message)) return ['missing-permission', words.adminsOnly()];
  if (isAccess || type === 'forbidden' || code === 'FORBIDDEN') {
    return ['missing-permission', words.noPermission(reason)];
  }
  if (type === 'authentication error' || code === 'AUTHENTICATION_ERROR' || status === 401) {
    return ['bad-token', words.badToken()];
  }
  if (type === 'usage limit exceeded') return ['too-many-hooks', words.tooManyHooks(reason)];
  if (status >= 500 || ['internal error', 'network error', 'lock timeout'].includes(type)) {
    return ['provider-failed', words.failed(reason)];
  }
  if (/url not unique/i.test(message)) return ['hook-exists', words.hookExists()];
  if (/entity not found: webhook/i.test(message)) return ['hook-not-found', words.noHook()];
  if (/entity not found: team/i.test(message)) return ['place-not-found', words.noTeam()];
  // Skip errors of GraphQL itself: they quote the whole input, which has a URL whatever is wrong with it.
  if (type !== 'graphql error' && (/\burl\b/i.test(message) || /\burl\b/i.test(presentable))) {
    return ['unreachable-url', words.unreachableUrl(reason)];
  }
  return ['refused', words.refused(reason)];
}

function firstErrorIn(body: unknown): GraphqlError | null {
  const { errors } = { ...(body as { errors?: unknown } | null) };
  const first: unknown = Array.isArray(errors) ? errors[0] : null;
  if (typeof first !== 'object' || first === null) return null;
  const { message, extensions } = first as { message?: unknown; extensions?: Record<string, unknown> };
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  return {
    type: text(extensions?.type),
    code: text(extensions?.code),
    message: text(message),
    presentable: text(extensions?.userPresentableMessage),
  };
}

/** Linear's words in quotes, on one line, bounded and without secrets. */
function reasonOf({ presentable, message }: GraphqlError, secrets: readonly string[]): string {
  const hide = (text: string, secret: string) => (secret ? text.replaceAll(secret, '…') : text);
  const hidden = secrets.reduce(hide, presentable || message);
  const line = hidden.replaceAll(/\s+/g, ' ').trim().replace(/\.$/, '');
  if (line === '') return 'no reason given';
  return line.length > MAX_REASON_LENGTH ? `"${line.slice(0, MAX_REASON_LENGTH)}…"` : `"${line}"`;
}

/** The budgets of which no more than this part is left. */
const shortBudgets = (headers: Headers, spared: number) =>
  BUDGETS.filter((budget) => {
    const [remaining, limit = 0] = ['remaining', 'limit'].map((each) =>
      numberIn(headers, `x-ratelimit-${budget}-${each}`),
    );
    return remaining != null && remaining <= (limit ?? 0) * spared;
  });

/**
 * The time from which Linear accepts requests again, in whole seconds; null unless its headers say so. `Retry-After` counts from the
 * response's own `Date`, so this machine's clock does not matter.
 */
function retryAtOf(headers: Headers, spared = 0): Date | null {
  const answeredAt = Date.parse(headers.get('date') ?? '');
  const waitSeconds = Number.parseInt(headers.get('retry-after') ?? '', 10);
  const waited = answeredAt + waitSeconds * 1000;
  const resets = shortBudgets(headers, spared).map((budget) =>
    Number.parseInt(headers.get(`x-ratelimit-${budget}-reset`) ?? '', 10),
  );
  // A proxy may drop the `Date`.
  const latest = Math.min(answeredAt + MAX_WAIT_MS || MAX_TIME, MAX_TIME);
  const times = (Number.isFinite(waited) ? [waited] : resets).filter((time) => time > 0 && time <= latest);
  return times.length === 0 ? null : new Date(Math.ceil(Math.max(...times) / 1000) * 1000);
}

// Tidings sends its own GraphQL documents. Those of Linear's SDK fetch whole teams and webhooks: a page of them may
// exceed Linear's complexity limit, and holds everybody's secrets.

/** The most that Linear puts on a page. */
const PAGE_SIZE = 250;

export interface LinearOptions {
  /** How long one request may take, in milliseconds. */
  timeoutMs?: number;
  /** Aborts requests, as if Linear did not answer. */
  signal?: AbortSignal | undefined;
}

interface Query<Shape extends TSchema> {
  text: string;
  data: Shape;
}

const PageInfo = Type.Object({
  hasNextPage: Type.Boolean(),
  endCursor: Type.Union([Type.String(), Type.Null()]),
});
type Page<Node> = { nodes: Node[]; pageInfo: Static<typeof PageInfo> };
export const pageOf = <Node extends TSchema>(node: Node) =>
  Type.Object({ nodes: Type.Array(node), pageInfo: PageInfo });

const Team = Type.Object({ id: Type.String(), key: Type.String(), name: Type.String() });
export type Team = Static<typeof Team>;

const Viewer = Type.Object({ admin: Type.Boolean(), owner: Type.Boolean(), app: Type.Boolean() });
export type Viewer = Static<typeof Viewer>;

const Webhook = Type.Object({
  id: Type.String(),
  /** Null for the webhook of an OAuth application, whose URL Linear does not show. */
  url: Type.Union([Type.String(), Type.Null()]),
  enabled: Type.Boolean(),
  resourceTypes: Type.Array(Type.String()),
  allPublicTeams: Type.Boolean(),
  team: Type.Union([Type.Object({ id: Type.String() }), Type.Null()]),
});
export type Webhook = Static<typeof Webhook>;

const WEBHOOK = '{ id url enabled resourceTypes allPublicTeams team { id } }';
export const PAGE_INFO = 'pageInfo { hasNextPage endCursor }';
const Done = Type.Object({ success: Type.Boolean() });

export const queries = {
  teams: {
    text: `query tidingsTeams($filter: TeamFilter, $first: Int, $after: String) {
      viewer { admin owner app }
      teams(filter: $filter, first: $first, after: $after) { nodes { id key name } ${PAGE_INFO} }
    }`,
    data: Type.Object({ viewer: Viewer, teams: pageOf(Team) }),
  },
  webhooks: {
    text: `query tidingsWebhooks($first: Int, $after: String) {
      webhooks(first: $first, after: $after) { nodes ${WEBHOOK} ${PAGE_INFO} }
    }`,
    data: Type.Object({ webhooks: pageOf(Webhook) }),
  },
  webhook: {
    text: `query tidingsWebhook($id: String!) { webhook(id: $id) ${WEBHOOK} }`,
    data: Type.Object({ webhook: Webhook }),
  },
  createWebhook: {
    text: `mutation tidingsWebhookCreate($input: WebhookCreateInput!) {
      webhookCreate(input: $input) { success webhook ${WEBHOOK} }
    }`,
    data: Type.Object({ webhookCreate: Type.Object({ success: Type.Boolean(), webhook: Webhook }) }),
  },
  updateWebhook: {
    text: `mutation tidingsWebhookUpdate($id: String!, $input: WebhookUpdateInput!) {
      webhookUpdate(id: $id, input: $input) { success }
    }`,
    data: Type.Object({ webhookUpdate: Done }),
  },
  deleteWebhook: {
    text: 'mutation tidingsWebhookDelete($id: String!) { webhookDelete(id: $id) { success } }',
    data: Type.Object({ webhookDelete: Done }),
  },
} satisfies Record<string, Query<TSchema>>;

/** Queries Linear with a token and checks the shape of its data. Every failure is a `ProviderProblem`. */
export function openClient(url: string, token: string, { timeoutMs = 10_000, signal }: LinearOptions = {}) {
  const { protocol, hostname } = new URL(url);
  const service = serviceAt(url, 'Linear', 'LINEAR_API_URL');
  const isEncrypted = protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  // Linear accepts personal API keys bare, and OAuth tokens after `Bearer`.
  const authorization = token.startsWith('lin_api_') ? token : `Bearer ${token}`;
  // Follows no redirect: Linear sends none.
  const request = apiFetch(service, { timeoutMs, signal });
  let headers = new Headers();

  return {
    /** Throws `rate-limited` when the last response says that little is left of a limit. */
    spareLimits() {
      if (shortBudgets(headers, SPARED).length === 0) return;
      const retryAt = retryAtOf(headers, SPARED);
      throw new ProviderProblem('rate-limited', words.fewLeft(), { retryAt });
    },

    /** `secret` never shows in a problem. */
    async ask<Shape extends TSchema>(
      { text, data: shape }: Query<Shape>,
      variables: Record<string, unknown>,
      secret = '',
    ): Promise<Static<Shape>> {
      if (!isEncrypted) throw new ProviderProblem('provider-failed', words.notEncrypted());
      const response = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'user-agent': 'tidings', authorization },
        body: JSON.stringify({ query: text, variables }),
      });
      ({ headers } = response);
      const { data, errors } = { ...(response.json as { data?: unknown; errors?: unknown } | null) };
      if (response.status === 200 && !errors && Value.Check(shape, data)) return data;
      throw problemOf(response, { service, secrets: [token, secret] });
    },
  };
}

/** Reads pages until there are `limit` nodes or more; `isCut` when Linear has more. */
export async function readPages<Node>(
  limit: number,
  read: (page: { first: number; after: string | null }) => Promise<Page<Node>>,
): Promise<{ nodes: Node[]; isCut: boolean }> {
  const nodes: Node[] = [];
  let after: string | null = null;
  // Count pages too: a page may be empty and still promise more.
  for (let count = 0; count < Math.ceil(limit / PAGE_SIZE); count++) {
    const page: Page<Node> = await read({ first: PAGE_SIZE, after });
    nodes.push(...page.nodes);
    after = page.pageInfo.endCursor;
    if (!page.pageInfo.hasNextPage || after === null) return { nodes, isCut: false };
  }
  return { nodes, isCut: true };
}

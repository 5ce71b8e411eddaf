import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { ProviderProblem } from '../../api.ts';
import { apiFetch, serviceAt } from '../../api-fetch.ts';
import { problemOf } from './problems.ts';
import { words } from './words.ts';

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
const pageOf = <Node extends TSchema>(node: Node) =>
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
const PAGE_INFO = 'pageInfo { hasNextPage endCursor }';
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

  return {
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

import { type Static, type TSchema, Type } from '@sinclair/typebox';

// What Tidings asks Linear in words of its own, and the shape of the answers. The SDK's own queries fetch whole teams
// and whole webhooks: a page of them may cost more than Linear allows for a request, and holds everybody's secrets.

export interface Query<Shape extends TSchema> {
  text: string;
  answer: Shape;
}

const PageInfo = Type.Object({
  hasNextPage: Type.Boolean(),
  endCursor: Type.Union([Type.String(), Type.Null()]),
});

const Team = Type.Object({ id: Type.String(), key: Type.String(), name: Type.String() });
export type Team = Static<typeof Team>;

const Viewer = Type.Object({ admin: Type.Boolean(), owner: Type.Boolean(), app: Type.Boolean() });
export type Viewer = Static<typeof Viewer>;

export const teamsQuery = {
  text: `query tidingsTeams($filter: TeamFilter, $first: Int, $after: String) {
    viewer { admin owner app }
    teams(filter: $filter, first: $first, after: $after) { nodes { id key name } pageInfo { hasNextPage endCursor } }
  }`,
  answer: Type.Object({
    viewer: Viewer,
    teams: Type.Object({ nodes: Type.Array(Team), pageInfo: PageInfo }),
  }),
} satisfies Query<TSchema>;

const WEBHOOK = '{ id url enabled resourceTypes allPublicTeams team { id } }';

const Webhook = Type.Object({
  id: Type.String(),
  /** Null for the webhook of an OAuth application, which keeps its URL to itself. */
  url: Type.Union([Type.String(), Type.Null()]),
  enabled: Type.Boolean(),
  resourceTypes: Type.Array(Type.String()),
  allPublicTeams: Type.Boolean(),
  team: Type.Union([Type.Object({ id: Type.String() }), Type.Null()]),
});
export type Webhook = Static<typeof Webhook>;

export const webhooksQuery = {
  text: `query tidingsWebhooks($first: Int, $after: String) {
    webhooks(first: $first, after: $after) { nodes ${WEBHOOK} pageInfo { hasNextPage endCursor } }
  }`,
  answer: Type.Object({ webhooks: Type.Object({ nodes: Type.Array(Webhook), pageInfo: PageInfo }) }),
} satisfies Query<TSchema>;

export const webhookQuery = {
  text: `query tidingsWebhook($id: String!) { webhook(id: $id) ${WEBHOOK} }`,
  answer: Type.Object({ webhook: Webhook }),
} satisfies Query<TSchema>;

export const webhookCreation = {
  text: `mutation tidingsWebhookCreate($input: WebhookCreateInput!) {
    webhookCreate(input: $input) { success webhook ${WEBHOOK} }
  }`,
  answer: Type.Object({ webhookCreate: Type.Object({ success: Type.Boolean(), webhook: Webhook }) }),
} satisfies Query<TSchema>;

import { Type } from '@sinclair/typebox';
import type { NewAuditEvent } from '../audit/store.ts';
import type { EventType } from '../events/model.ts';
import type { Plan } from '../organizations/model.ts';
import { type IntegrationType, providerOf, providers } from '../providers/index.ts';

export type { IntegrationType };

/** As people write them. */
export const providerNames = Object.fromEntries(providers.map(({ id, name }) => [id, name])) as Readonly<
  Record<IntegrationType, string>
>;

export const RepositoryName = Type.Object({
  repository: Type.String({
    pattern: '^[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}$',
    errorMessage: 'must be OWNER/NAME, such as acme/rocket',
  }),
});

/** The maximum number of repositories or teams of an integration. */
export const MAX_PLACES = 100;

/** A connected provider, without its secret. */
export interface Integration {
  id: string;
  organizationId: string;
  type: IntegrationType;
  enabled: boolean;
  repositories: Repository[];
  /** True if Tidings manages its webhooks at the provider, with a token. Otherwise a person sets them up. */
  hasToken: boolean;
  createdAt: string;
}

export interface Repository {
  id: string;
  /** `owner/name`. */
  fullName: string;
  /** The provider's own id, which survives renames; null until the provider or a verified delivery names it. */
  providerId: number | null;
}

/** A repository as its provider identifies it. */
export type RepositoryIdentity = Pick<Repository, 'fullName'> & { providerId: number };

/** An integration as the receiver needs it: its encrypted secrets, and its organization's plan. */
export interface ReceivingIntegration {
  id: string;
  organizationId: string;
  type: IntegrationType;
  enabled: boolean;
  secret: Buffer;
  previousSecret: Buffer | null;
  previousSecretUntil: string | null;
  plan: Plan;
}

/** The secrets that a delivery may be signed with, encrypted. */
export type SealedSecrets = Pick<
  ReceivingIntegration,
  'id' | 'secret' | 'previousSecret' | 'previousSecretUntil'
>;

/** An integration that was connected by hand. The secret is returned only here. */
export interface Connected {
  integrationId: string;
  repositoryId?: string;
  webhookUrl: string;
  secret: string;
}

/** One repository or team that was connected with a token. */
export interface ConnectedPlace {
  place: string;
  repositoryId?: string;
  webhookUrl: string;
  hookId: string;
  /** True if the provider's ping arrived; null for a provider without pings. */
  hasPinged: boolean | null;
}

/** A webhook that Tidings manages at a provider, as stored. */
export interface Hook {
  integrationId: string;
  placeId: string;
  placeName: string;
  /** The repository in its URL; null for a provider without repositories. */
  repositoryId: string | null;
  /** The provider's id; null until it was created there. */
  remoteId: string | null;
  /** The events that were set at the provider. */
  events: readonly string[];
  /** True if the integration's current secret was set at the provider. */
  hasPresentSecret: boolean;
  /** A sentence about the last failed update; null after a success. */
  problem: string | null;
  /** The job skips it until then, in milliseconds since 1970. */
  retryAt: number | null;
  attempts: number;
}

/** As much of an enabled trigger as decides which events a hook needs. `repositoryId` null: every repository. */
export interface EnabledTrigger {
  integrationId: string;
  repositoryId: string | null;
  event: EventType;
}

/** The names of its repositories; the provider's without any. */
export function integrationName({ type, repositories }: Pick<Integration, 'type' | 'repositories'>): string {
  return repositories.map(({ fullName }) => fullName).join(', ') || providerNames[type];
}

/** The provider and its repositories, for a summary: the first by its name, the others by their number. */
export function nameIntegration({
  type,
  repositories,
}: Pick<Integration, 'type'> & { repositories: readonly Pick<Repository, 'fullName'>[] }): string {
  const [first, ...others] = repositories;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `the ${providerOf(type).name} integration${first === undefined ? '' : ` ${first.fullName}${more}`}`;
}

/** The audit event for a change. `describe` completes the summary with the integration's name. */
export function auditEventOf(
  integration: Parameters<typeof nameIntegration>[0] & Pick<Integration, 'id' | 'organizationId'>,
  action: Extract<NewAuditEvent['action'], `integration.${string}` | 'secret.rotated' | 'token.set'>,
  describe: (name: string) => string,
): NewAuditEvent {
  const { id, organizationId } = integration;
  const summary = describe(nameIntegration(integration));
  return { organizationId, action, target: { type: 'integration', id }, summary };
}

/** The path `/api/webhooks/…` that deliveries are sent to, below `publicUrl`. */
export function webhookUrl(
  publicUrl: string,
  type: IntegrationType,
  organizationId: string,
  integrationId: string,
  repositoryId?: string,
): string {
  const segments = [type, organizationId, integrationId, repositoryId].filter(
    (segment) => segment !== undefined,
  );
  return `${publicUrl}/api/webhooks/${segments.join('/')}`;
}

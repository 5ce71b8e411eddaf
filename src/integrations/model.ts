import type { WriteTx } from '../../db/engine.ts';
import type { AuditAction } from '../audit/model.ts';
import { type AuditContext, recordAudit } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import { invalidField } from '../lib/validation.ts';
import { type IntegrationType, providerOf, providers } from '../providers/index.ts';
import type { Integration } from './store.ts';

export type { Hook } from './hook-store.ts';
export type { Integration, ReceivingIntegration, Repository, RepositoryIdentity } from './store.ts';
export type { IntegrationType };

/** As people write them. */
export const providerNames = Object.fromEntries(providers.map(({ id, name }) => [id, name])) as Readonly<
  Record<IntegrationType, string>
>;

/** Throws `AppError` 400 unless it is the full name of a repository. */
export function requireRepositoryName(type: IntegrationType, name: string): void {
  const { isRepositoryName, words } = providerOf(type);
  if (isRepositoryName(name)) return;
  throw invalidField('repository', `must be ${words.place.pattern}, such as acme/rocket`);
}

/** The name of a place that a person typed, or pasted as a URL. Throws `AppError` 400. */
export function placeName(
  { providerUrls }: Pick<Deps, 'providerUrls'>,
  type: IntegrationType,
  text: string,
): string {
  return providerOf(type).placeName(text, providerUrls?.[type]);
}

/** The maximum number of repositories or teams of an integration. */
export const MAX_PLACES = 100;

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

/** The names of its repositories; the provider's without any. */
export function integrationName({ type, repositories }: Pick<Integration, 'type' | 'repositories'>): string {
  return repositories.map(({ fullName }) => fullName).join(', ') || providerNames[type];
}

/** Records a change. `did` begins the summary, which the provider and the first repository end. */
export function recordChange(
  tx: WriteTx,
  deps: AuditContext,
  integration: Pick<Integration, 'id' | 'organizationId' | 'type'> & {
    repositories: readonly { fullName: string }[];
  },
  action: Extract<AuditAction, `integration.${string}` | 'secret.rotated' | 'token.set'>,
  did: string,
): Promise<number> {
  const { id, organizationId, type, repositories } = integration;
  const [first, ...others] = repositories;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  const name = first === undefined ? '' : ` ${first.fullName}${more}`;
  const summary = `${did} the ${providerNames[type]} integration${name}`;
  return recordAudit(tx, deps, { organizationId, action, target: { type: 'integration', id }, summary });
}

/** The path `/api/webhooks/…` that deliveries are sent to, below `publicUrl`. */
export function webhookUrl(
  publicUrl: string,
  type: IntegrationType,
  organizationId: string,
  integrationId: string,
  repositoryId?: string | null,
): string {
  const repository = repositoryId == null ? '' : `/${repositoryId}`;
  return `${publicUrl}/api/webhooks/${type}/${organizationId}/${integrationId}${repository}`;
}

import type { WriteTx } from '../../db/engine.ts';
import type { AuditAction } from '../audit/model.ts';
import { type AuditContext, recordAudit } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import { invalidField } from '../lib/app-error.ts';
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

/** The same for the installation of an App, where a person may choose all. */
export const MAX_APP_REPOSITORIES = 1_000;

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
export function integrationName({
  type,
  repositories,
  app,
}: Pick<Integration, 'type' | 'repositories' | 'app'>): string {
  // An App may have a thousand, and its name stays when they change.
  if (app !== null) return app.slug;
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

/** The path `/api/webhooks/…` that deliveries are sent to, below `publicUrl`. An App has one for all repositories. */
export function webhookUrl(
  publicUrl: string,
  { id, type, organizationId, app }: Pick<Integration, 'id' | 'type' | 'organizationId'> & { app?: unknown },
  repositoryId?: string | null,
): string {
  const isApp = app != null;
  const repository = repositoryId == null || isApp ? '' : `/${repositoryId}`;
  const provider = isApp ? providerOf(type).app?.path : type;
  return `${publicUrl}/api/webhooks/${provider}/${organizationId}/${id}${repository}`;
}

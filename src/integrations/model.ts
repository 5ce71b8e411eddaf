import { Type } from '@sinclair/typebox';
import { DAY_MS } from '../lib/time.ts';
import type { Plan } from '../organizations/model.ts';
import { type IntegrationType, providers } from '../providers/index.ts';

export type { IntegrationType };

/** As people write them. */
export const providerNames = Object.fromEntries(providers.map(({ id, name }) => [id, name])) as Readonly<
  Record<IntegrationType, string>
>;

/** How long a secret that was rotated away is still taken, in milliseconds. */
export const PREVIOUS_SECRET_MS = DAY_MS;

export const RepositoryName = Type.Object({
  repository: Type.String({
    pattern: '^[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}$',
    errorMessage: 'must be OWNER/NAME, such as acme/rocket',
  }),
});

/** A connected provider, as people see it: without its secret. */
export interface Integration {
  id: string;
  organizationId: string;
  type: IntegrationType;
  enabled: boolean;
  repositories: Repository[];
  /** Whether Tidings keeps its webhooks at the provider, with a token; otherwise they are set up by hand. */
  hasToken: boolean;
  createdAt: string;
}

/** Such as `the GitHub integration acme/rocket`. */
export function nameIntegration({
  type,
  repositories,
}: Pick<Integration, 'type'> & { repositories: readonly Pick<Repository, 'fullName'>[] }): string {
  const [first, ...others] = repositories;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `the ${providerNames[type]} integration${first === undefined ? '' : ` ${first.fullName}${more}`}`;
}

export interface Repository {
  id: string;
  /** `owner/name`. */
  fullName: string;
  /** The provider's own id, which survives renames; null until the provider or a verified delivery says it. */
  providerId: number | null;
}

/** What a provider says of a repository. */
export type RepositoryIdentity = Pick<Repository, 'fullName'> & { providerId: number };

/** An integration as the receiver needs it: its sealed secrets, and its organization's plan. */
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

/** What a delivery may be signed with, encrypted. */
export type SealedSecrets = Pick<
  ReceivingIntegration,
  'id' | 'secret' | 'previousSecret' | 'previousSecretUntil'
>;

/** The answer to connecting, and the one time that the secret is told. */
export interface Connected {
  integrationId: string;
  repositoryId?: string;
  webhookUrl: string;
  secret: string;
}

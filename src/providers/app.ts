import type { ProviderApi } from './api.ts';
import type { EventResult, Payload } from './provider.ts';
import type { RepositoryReader } from './reader.ts';

// Apps: an identity at the provider that belongs to the organization, not to a person. An App signs its requests with a
// key, the repositories are chosen where it is installed, and one webhook serves them all.

export interface AppSupport {
  /** As people call one, such as `GitHub App`. */
  readonly name: string;
  /** The first segment of its webhook paths, and of its pages in the dashboard. */
  readonly path: string;
  /** The form that creates an App, for the person's browser to send to the provider. Throws `AppError` 400. */
  registration(baseUrl: string | undefined, request: AppRequest): AppForm;
  /** True for the content of a key file. */
  isPrivateKey(text: string): boolean;
  pages(baseUrl: string | undefined, app: { slug: string; url: string }): AppPages;
  /** Exchanges the code that the provider sent the browser back with. Throws `ProviderProblem`. */
  create(baseUrl: string, code: string, options: AppOptions): Promise<NewApp>;
  /** Opens the API as the App, without a request. */
  open(baseUrl: string, app: AppCredential, options: AppOptions): Promise<AppApi>;
  openReader(baseUrl: string, app: AppCredential, options: AppOptions): Promise<RepositoryReader>;
  /** A token of the installation, which is valid for some minutes at least. Throws `ProviderProblem`. */
  token(baseUrl: string, app: AppCredential): Promise<string>;
  readonly events: readonly string[];
  /** Reads the change of the installation that an event tells; null for any other event. Throws `MalformedPayload`. */
  readChange(
    event: string,
    payload: Payload,
  ): { result: EventResult; change: InstallationChange | null } | null;
}

interface AppOptions {
  signal?: AbortSignal | undefined;
}

export interface AppRequest {
  /** The name to suggest. */
  name: string;
  /** The account that will own it; null: the person's own. */
  owner: string | null;
  /** The address of Tidings. */
  homepageUrl: string;
  webhookUrl: string;
  /** Gets the code and the state. */
  createdUrl: string;
  /** Opened after each change of the installation. */
  installedUrl: string;
  state: string;
}

export interface AppForm {
  action: string;
  fields: Readonly<Record<string, string>>;
}

export interface AppPages {
  /** Installs the App, or changes its repositories. */
  install: string;
  /** Makes keys. */
  settings: string;
  /** Lists the accounts that have it, and suspends or unsuspends it there. */
  installations: string;
  /** Deletes the App. */
  danger: string;
}

export interface NewApp {
  appId: number;
  /** Its name in URLs. */
  slug: string;
  /** The page of its settings. */
  url: string;
  /** PEM. */
  privateKey: string;
  webhookSecret: string;
}

/** The proof of an App's identity. */
export interface AppCredential {
  appId: number;
  slug: string;
  /** PEM. */
  privateKey: string;
  /** Null until somebody installed it. */
  installationId: number | null;
}

/** A token, or the key of an App. */
export type Credential = string | AppCredential;

export interface Installation {
  id: number;
  /** ISO 8601; null unless somebody suspended it. */
  suspendedAt: string | null;
}

export interface InstalledRepository {
  providerId: number;
  fullName: string;
}

/** The API on behalf of an App. Its only hook is that of the App, which every place shares. */
export interface AppApi extends ProviderApi {
  /** Null while it is not installed. `ofOwner`: an unknown installation must be on the account that owns the App. */
  findInstallation(options?: { ofOwner?: boolean }): Promise<Installation | null>;
}

export const isAppApi = (api: ProviderApi): api is AppApi => 'findInstallation' in api;

export type InstallationChange = { installationId: number } & (
  | { kind: 'installed'; repositories: InstalledRepository[] }
  | { kind: 'uninstalled' | 'unsuspended' }
  | { kind: 'suspended'; at: string | null }
  | { kind: 'repositories'; added: InstalledRepository[]; removed: InstalledRepository[] }
);

/** The id of the hook, and of its place. An App has one. */
export const APP_HOOK = 'app';

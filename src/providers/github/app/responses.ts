import { Type } from '@sinclair/typebox';
import { ProviderProblem } from '../../api.ts';
import type { Installation, NewApp } from '../../app.ts';
import { checked, repositoriesOf, toPlace } from '../api/responses.ts';
import { words } from '../api/words.ts';
import { parsePrivateKey } from './keys.ts';
import { settingsPage } from './manifest.ts';

// The parts of GitHub's responses about Apps that Tidings reads. Every function throws `ProviderProblem` for another shape.

const Id = Type.Integer({ minimum: 1 });
const Login = Type.String({ pattern: '^[\\w-]{1,100}$' });

const Account = Type.Optional(Type.Union([Type.Object({ id: Type.Optional(Id) }), Type.Null()]));

const App = Type.Object({ id: Id, owner: Account, events: Type.Array(Type.String()) });

const Created = Type.Object({
  id: Id,
  slug: Login,
  owner: Type.Object({ login: Type.Optional(Login), type: Type.Optional(Type.String()) }),
  pem: Type.String({ maxLength: 10_000 }),
  webhook_secret: Type.String({ minLength: 1, maxLength: 1_000 }),
});

const Installations = Type.Array(
  Type.Object({
    id: Id,
    app_id: Id,
    account: Account,
    suspended_at: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  }),
);

const AccessToken = Type.Object({
  token: Type.String({ pattern: '^[\\x21-\\x7e]{1,1000}$' }),
  expires_at: Type.String(),
});

const Config = Type.Object({
  url: Type.Optional(Type.String()),
  content_type: Type.Optional(Type.String()),
  secret: Type.Optional(Type.String()),
});

const Repositories = Type.Object({ repositories: Type.Array(Type.Unknown()) });

export const appOf = (data: unknown) => checked(App, data, 'an App');
export const configOf = (data: unknown) => checked(Config, data, "an App's webhook");

export function createdOf(baseUrl: string, data: unknown): NewApp {
  const { id, slug, owner, pem, webhook_secret: webhookSecret } = checked(Created, data, 'a new App');
  if (parsePrivateKey(pem) === null) throw otherShape('a private key');
  const account = { login: owner.login ?? '', isOrganization: owner.type === 'Organization' };
  return { appId: id, slug, url: settingsPage(baseUrl, slug, account), privateKey: pem, webhookSecret };
}

export function installationsOf(data: unknown): (Installation & { accountId: number | null })[] {
  return checked(Installations, data, 'installations').map(({ id, account, suspended_at }) => ({
    id,
    accountId: account?.id ?? null,
    suspendedAt: suspended_at ?? null,
  }));
}

export function accessTokenOf(data: unknown): { token: string; expiresAt: number } {
  const { token, expires_at } = checked(AccessToken, data, 'an access token');
  const expiresAt = Date.parse(expires_at);
  if (Number.isNaN(expiresAt)) throw otherShape('the end of an access token');
  return { token, expiresAt };
}

export function installedOf(data: unknown) {
  const list = checked(Repositories, data, 'repositories').repositories;
  // Whether the App may read them: an installation has no roles.
  return repositoriesOf(list).map((each) => ({ ...toPlace(each), canAdminister: true }));
}

const otherShape = (expected: string) => new ProviderProblem('provider-failed', words.otherShape(expected));

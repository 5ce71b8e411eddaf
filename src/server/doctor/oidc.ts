import type { Database } from '../../../db/engine.ts';
import { findPublicUrl } from '../../integrations/uptime.ts';
import { AppError } from '../../lib/app-error.ts';
import { describeCause, identityProvider } from '../../people/oidc/provider.ts';
import { CALLBACK } from '../../people/oidc/sign-in.ts';
import { findOrganization } from '../../people/organization-store.ts';
import { type Check, type Finding, failed, ok, unchecked, warning } from './check.ts';

const DOCS = 'docs/sign-in.md';

/** Checks that the identity provider knows this client, that it can lead back, and that the rules name organizations. */
export const examineProvider: Check = async ({ config, db, clock, isOffline }) => {
  const { oidc, plainHosts, publicUrl, port } = config;
  if (oidc === undefined) return null;
  if (oidc === null || plainHosts === null || publicUrl === null)
    return unchecked('an OIDC_* setting, ALLOW_HTTP or PUBLIC_URL');
  const unknown = db === null ? [] : await unknownOrganizations(db, oidc.rules);
  if (unknown.length > 0) {
    return warning(
      `OIDC_RULES names organizations that do not exist: ${unknown.slice(0, 5).join(', ')}`,
      'Correct the rules, create the organizations with these IDs, or restore them from the trash',
    );
  }
  const set = db === null ? publicUrl : await findPublicUrl({ db }, { publicUrl });
  const callback = (set ?? `http://localhost:${port}`) + CALLBACK;
  if (!isOffline) {
    const trouble = await ask();
    if (trouble !== null) return trouble;
  }
  const asked = isOffline ? '' : `${oidc.name} knows the client, and `;
  return callback.startsWith('https:')
    ? ok(`${asked}people come back to ${callback}`)
    : warning(
        `People come back from ${oidc.name} to ${callback}: without https, anyone on the network can read the code of a sign-in`,
        'Put a proxy with a certificate in front of the server, and set PUBLIC_URL to its https address',
      );

  async function ask(): Promise<Finding | null> {
    if (oidc == null || plainHosts === null) return null;
    try {
      const client = await identityProvider(oidc, { clock, plainHosts }).client();
      const refusal = await client.examine(callback);
      if (refusal === null) return null;
      return failed(
        `${oidc.name} refuses this client: ${refusal.slice(0, 100)}`,
        `Compare OIDC_CLIENT_ID and OIDC_CLIENT_SECRET with the client at the provider, and ${callback} with its redirect URIs`,
      );
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return failed(
        `${oidc.issuer} cannot be used: ${describeCause(error.cause).slice(0, 300)}`,
        `Open ${oidc.issuer.replace(/\/$/, '')}/.well-known/openid-configuration from this machine, and set OIDC_ISSUER to the issuer there (${DOCS})`,
      );
    }
  }
};

async function unknownOrganizations(db: Database, rules: readonly { organization: string }[]) {
  const named = [...new Set(rules.map(({ organization }) => organization))];
  const found = await db.read((tx) => Promise.all(named.map((id) => findOrganization(tx, id))));
  return named.filter((_, index) => found[index] === null);
}

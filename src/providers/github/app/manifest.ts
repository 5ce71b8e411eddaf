import { AppError } from '../../../lib/app-error.ts';
import { cutLine } from '../../../lib/text.ts';
import type { AppForm, AppPages, AppRequest } from '../../app.ts';
import { webOf } from '../site.ts';

const PUBLIC_API = 'https://api.github.com';

/** GitHub's limit. */
const MAX_NAME_LENGTH = 34;

/** The login of an account at GitHub. */
const LOGIN = /^[A-Za-z\d](?:[A-Za-z\d-]{0,37}[A-Za-z\d])?$/;

/** GitHub's form for an App from a manifest: docs.github.com/apps/sharing-github-apps. */
export function registration(
  baseUrl: string | undefined,
  { name, owner, homepageUrl, webhookUrl, createdUrl, installedUrl, state }: AppRequest,
): AppForm {
  if (owner !== null && !LOGIN.test(owner)) {
    throw new AppError(400, 'Enter the name of an organization at GitHub, such as acme.', {
      fields: { owner: 'must be the name of an organization at GitHub, such as acme' },
    });
  }
  const manifest = {
    name: cutLine(name, MAX_NAME_LENGTH),
    url: homepageUrl,
    hook_attributes: { url: webhookUrl, active: true },
    redirect_url: createdUrl,
    setup_url: installedUrl,
    setup_on_update: true,
    public: false,
    default_permissions: { contents: 'read', metadata: 'read', pull_requests: 'read' },
    default_events: ['push', 'pull_request', 'release'],
  };
  const account = owner === null ? '' : `/organizations/${owner}`;
  const action = `${webOf(baseUrl ?? PUBLIC_API)}${account}/settings/apps/new?state=${encodeURIComponent(state)}`;
  return { action, fields: { manifest: JSON.stringify(manifest) } };
}

export function pages(baseUrl: string | undefined, { slug, url }: { slug: string; url: string }): AppPages {
  const site = webOf(baseUrl ?? PUBLIC_API);
  return { install: `${site}/apps/${slug}/installations/new`, settings: url, danger: `${url}/advanced` };
}

/** The page of an App's settings. */
export function settingsPage(
  baseUrl: string,
  slug: string,
  owner: { login: string; isOrganization: boolean },
) {
  const account = owner.isOrganization ? `/organizations/${owner.login}` : '';
  return `${webOf(baseUrl)}${account}/settings/apps/${slug}`;
}

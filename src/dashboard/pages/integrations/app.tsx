import { Type } from '@sinclair/typebox';
import { formsTo } from '../../../http/respond.ts';
import {
  connectApp,
  type Installed,
  replaceAppKey,
  requireApps,
  syncInstallation,
} from '../../../integrations/app.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { webhookUrl } from '../../../integrations/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import type { AppForm, AppSupport } from '../../../providers/app.ts';
import type { IntegrationType } from '../../../providers/ids.ts';
import { providerOf, providers } from '../../../providers/index.ts';
import { formState } from '../../fields.ts';
import { type Answer, get, type MemberVisit, type Page, redirect, type View, view } from '../../page.ts';
import { seal, unseal } from '../../sealed.ts';
import { once } from '../../submission.ts';
import { counted, More } from '../../view/elements.tsx';
import { Field, Form, FormError, fieldProblem, Hidden, TextArea } from '../../view/form.tsx';
import { External, showIntegration } from './one.tsx';
import { LocalAddressNote } from './overview.tsx';
import {
  formPages,
  type IntegrationVisit,
  integrationForm,
  integrationPage,
  problemOf,
  subpage,
} from './subpage.tsx';

async function refresh({ deps, integration, path }: IntegrationVisit) {
  return redirect(path, describeInstalled(await syncInstallation(deps, integration.id)));
}

function failed(visit: IntegrationVisit, error: unknown) {
  return showIntegration(visit, { about: 'hooks', error });
}

const MAX_NAMED = 3;

function describeInstalled({ isInstalled, isSuspended, added, removed, skipped }: Installed): string {
  if (!isInstalled) return 'The App is not installed yet.';
  if (isSuspended) return 'The App is installed, but somebody suspended it.';
  const changes = [
    ...(added.length > 0 ? [`Added ${namesOf(added)}.`] : []),
    ...(removed.length > 0 ? [`Removed ${namesOf(removed)}.`] : []),
    ...(skipped.length > 0 ? [`Another integration has ${namesOf(skipped)}.`] : []),
  ];
  return changes.join(' ') || 'The repositories are up to date.';
}

const namesOf = (names: readonly string[]) =>
  names.length > MAX_NAMED ? counted(names.length, 'repository', 'repositories') : names.join(', ');

function showKeyForm(visit: IntegrationVisit, error?: string) {
  const { deps, integration, path } = visit;
  const { name, app } = providerOf(integration.type);
  if (integration.app === null || app === undefined) throw new AppError(404, 'Page not found.');
  const pages = app.pages(deps.providerUrls?.[integration.type], integration.app);
  return subpage(
    visit,
    { title: 'Replace key' },
    <p class="lede">
      Create a private key in <External to={pages.settings}>the App's settings</External>. Tidings checks the
      new key first; if {name} does not accept it, the current key stays.
    </p>,
    <Form
      to={`${path}/key`}
      problem={fieldProblem('field-key', error)}
      button="Replace key"
      busy="Checking key…"
      isOnce
    >
      <TextArea
        label="Private key"
        name="key"
        error={error}
        hint="The content of the .pem file. It is kept encrypted."
        more={{ rows: 8, class: 'mono', spellcheck: false }}
      />
    </Form>,
  );
}

const PATH = '/dashboard/:organizationId/integrations';

const OwnerForm = Type.Object({
  owner: Type.String({
    label: 'Organization',
    hint: 'Its name in URLs, such as acme. You must be an owner.',
  }),
});

/** The button sends the manifest straight to the provider, so this page alone may post there. */
async function showForm(
  visit: MemberVisit,
  type: IntegrationType,
  app: AppSupport,
  refused?: string,
): Promise<View> {
  const { deps, organization, base, url } = visit;
  const { name: provider } = providerOf(type);
  const owner = (refused === undefined ? url.searchParams.get('owner')?.trim() : null) || null;
  const { form, error } = register(visit, type, app, owner);
  const { fields, problem } = formState(OwnerForm, { owner: owner ?? '' }, error);
  const isRefused = refused !== undefined || error !== null;
  const to = `${base}/integrations/${app.path}/new`;
  return view(
    {
      title: `Create a ${app.name}`,
      crumbs: [{ to: 'integrations', label: 'Integrations' }],
      ...(form !== null && { headers: formsTo(form.action) }),
      ...(isRefused && { status: 400 }),
    },
    <FormError error={refused ?? problem} />,
    <p class="lede">
      An App doesn't depend on anyone's personal token. It reads the repositories that you choose at{' '}
      {provider}, with tokens that expire after an hour, and one webhook serves them all.
    </p>,
    <LocalAddressNote url={deps.publicUrl()} type={type} pollFor={organization.id} />,
    <ol>
      <li>
        {provider} shows the name of the App
        {owner === null || form === null ? '' : `, which ${owner} will own`}. Change it if you like, then
        create the App.
      </li>
      <li>{provider} brings you back here. Install the App, and choose its repositories.</li>
    </ol>,
    form !== null && (
      <form method="post" action={form.action}>
        <Hidden values={Object.entries(form.fields)} />
        <button type="submit" class="button go">
          Continue to {provider}
        </button>
      </form>
    ),
    <More label="Create it in an organization" isOpen={owner !== null}>
      <form method="get" action={to} class="stack">
        <Field {...fields.owner} />
        <div class="bar">
          <button type="submit" class="button">
            Use organization
          </button>
          {owner !== null && <a href={to}>Use your own account</a>}
        </div>
      </form>
    </More>,
  );
}

function register(
  visit: MemberVisit,
  type: IntegrationType,
  app: AppSupport,
  owner: string | null,
): { form: AppForm | null; error: AppError | null } {
  const { deps, organization } = visit;
  const id = deps.ids.newId('int');
  const publicUrl = deps.publicUrl();
  const pages = `${publicUrl}/dashboard/${organization.id}/integrations`;
  const hook = { id, type, organizationId: organization.id, app: {} };
  try {
    const form = app.registration(deps.providerUrls?.[type], {
      name: `Tidings for ${organization.name}`,
      owner,
      homepageUrl: publicUrl,
      webhookUrl: webhookUrl(publicUrl, hook),
      createdUrl: `${pages}/${app.path}/created`,
      installedUrl: `${pages}/${id}/installed`,
      state: seal(deps, contextOf(visit, app), id, STATE_MS),
    });
    return { form, error: null };
  } catch (error) {
    if (error instanceof AppError && error.status === 400) return { form: null, error };
    throw error;
  }
}

/** The provider sends the browser here with a code, which stands for the new App and its key. */
async function finish(visit: MemberVisit, type: IntegrationType, app: AppSupport): Promise<Answer> {
  const { deps, organization, base, url } = visit;
  const state = url.searchParams.get('state') ?? '';
  const integrationId = unseal<string>(deps, contextOf(visit, app), state);
  if (integrationId === null) {
    const why = `This page has expired, or another session opened it. Nothing was connected. If ${providerOf(type).name} created an App, delete it there, then start again.`;
    return showForm(visit, type, app, why);
  }
  const to = `${base}/integrations/${integrationId}`;
  try {
    requireApps(deps, type);
    const code = url.searchParams.get('code') ?? '';
    const request = { type, organizationId: organization.id, integrationId, code };
    const done = `${app.name} created. Install it to choose its repositories.`;
    const answer = await once(deps, `app ${integrationId}`, async () => {
      await connectApp(deps, request);
      return redirect(to, done);
    });
    if (answer !== null) return answer;
  } catch (error) {
    return showForm(visit, type, app, problemOf(visit, error));
  }
  // A reload: the App is connected, unless the first request is still at it.
  const all = await deps.db.read((tx) => listIntegrations(tx, organization.id));
  const isThere = all.some(({ id }) => id === integrationId);
  return redirect(
    isThere ? to : `${base}/integrations`,
    'This page was already opened. Nothing else was connected.',
  );
}

/** How long a person may take at the provider, in milliseconds. */
const STATE_MS = 3_600_000;

const contextOf = ({ organization, sessionHash }: MemberVisit, { path }: AppSupport) =>
  `${path} state of the session ${sessionHash} for ${organization.id}`;

export const routes: readonly Page[] = [
  // The provider sends the browser here after each change of the installation.
  integrationPage('installed', refresh, failed),
  integrationForm('refresh', refresh, failed),
  ...formPages('key', showKeyForm, async ({ deps, form, integration, path }) => {
    await replaceAppKey(deps, integration.id, form.get('key') ?? '');
    return redirect(path, 'Key replaced. Delete the old one at the provider.');
  }),
  ...providers.flatMap(({ id: type, app }) =>
    app === undefined
      ? []
      : [
          get(`${PATH}/${app.path}/new`, 'owner', async (visit) => showForm(visit, type, app)),
          get(`${PATH}/${app.path}/created`, 'owner', (visit) => finish(visit, type, app)),
        ],
  ),
];

/** @jsxRuntime automatic @jsxImportSource preact */
import { Type } from '@sinclair/typebox';
import { type Installed, replaceAppKey, syncInstallation } from '../../../integrations/app.ts';
import { AppError } from '../../../lib/app-error.ts';
import { providerOf } from '../../../providers/index.ts';
import { type Page, redirect } from '../../page.ts';
import { formState } from '../../submission.ts';
import { counted } from '../../view/elements.tsx';
import { Form, TextArea } from '../../view/form.tsx';
import { External } from './app-section.tsx';
import { showIntegration } from './one.tsx';
import { type IntegrationVisit, integrationForm, integrationPage, subpage } from './subpage.tsx';
import { problemOf } from './words.ts';

/** Installing an App, refreshing its repositories, and replacing its key. */
export const routes: readonly Page[] = [
  // The provider sends the browser here after each change of the installation.
  integrationPage('installed', async (visit) => refresh(visit), failed),
  integrationForm('refresh', async (visit) => refresh(visit), failed),
  integrationPage('key', async (visit) => showKeyForm(visit)),
  integrationForm(
    'key',
    async ({ deps, form, integration, path }) => {
      await replaceAppKey(deps, integration.id, form.get('key') ?? '');
      return redirect(path, 'Key replaced. Delete the old one at the provider.');
    },
    async (visit, error) => showKeyForm(visit, error),
  ),
];

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

const KeyForm = Type.Object({
  key: Type.String({ label: 'Private key' }),
});

async function showKeyForm(visit: IntegrationVisit, error?: unknown) {
  const { deps, integration, path } = visit;
  const { name, app } = providerOf(integration.type);
  if (integration.app === null || app === undefined) throw new AppError(404, 'Page not found.');
  const pages = app.pages(deps.providerUrls?.[integration.type], integration.app);
  const message = error === undefined ? null : problemOf(error, integration.type);
  const { fields } = formState(KeyForm, {});
  return subpage(
    visit,
    { title: 'Replace key', isRefused: error !== undefined },
    <>
      <p class="lede">
        Create a private key in <External to={pages.settings}>the App's settings</External>. Tidings checks
        the new key first; if {name} does not accept it, the current key stays.
      </p>
      <Form
        to={`${path}/key`}
        problem={message === null ? null : [{ id: 'field-key', error: message }]}
        button="Replace key"
        busy="Checking key…"
        isOnce
      >
        <TextArea
          {...fields.key}
          error={message}
          hint="The content of the .pem file. It is kept encrypted."
          more={{ rows: 8, class: 'mono', spellcheck: false }}
        />
      </Form>
    </>,
  );
}

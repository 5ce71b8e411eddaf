/** @jsxRuntime automatic @jsxImportSource preact */
import { Type } from '@sinclair/typebox';
import { type Installed, replaceAppKey, syncInstallation } from '../../../integrations/app.ts';
import type { Hook, Integration } from '../../../integrations/model.ts';
import { AppError } from '../../../lib/app-error.ts';
import type { AppPages } from '../../../providers/app.ts';
import { providerOf } from '../../../providers/index.ts';
import { type MemberVisit, type Page, redirect } from '../../page.ts';
import { formState } from '../../submission.ts';
import { counted, LinkButton, Table } from '../../view/elements.tsx';
import { Action, Form, TextArea } from '../../view/form.tsx';
import { HookState } from './hook-state.tsx';
import { showIntegration } from './one.tsx';
import { type IntegrationVisit, integrationForm, integrationPage, subpage } from './subpage.tsx';
import { exactTime, problemOf } from './words.ts';

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

export function External({ to, children }: { to: string; children: string }) {
  return (
    <a href={to} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

/** The pages of an integration's App; null for an integration without one. */
export function appPagesOf({ deps }: MemberVisit, { type, app }: Integration): AppPages | null {
  const support = providerOf(type).app;
  return app === null || support === undefined ? null : support.pages(deps.providerUrls?.[type], app);
}

/** Says what keeps the App from sending events, and what to do. */
export function AppNote({
  integration,
  pages,
  isOwner,
}: {
  integration: Integration;
  pages: AppPages;
  isOwner: boolean;
}) {
  const { name } = providerOf(integration.type);
  const { app } = integration;
  if (app === null) return null;
  if (app.suspendedAt !== null) {
    return (
      <div class="note">
        <p>
          Somebody suspended the App at {name} on {exactTime(app.suspendedAt)}, so it sends no events.
          Unsuspend it in the settings of the account.
        </p>
      </div>
    );
  }
  if (app.installationId !== null) return null;
  return (
    <div class="note">
      <p>The App is not installed, so it sends no events. Install it to choose its repositories.</p>
      {isOwner ? <LinkButton to={pages.install} label="Install App" kind="go" /> : null}
    </div>
  );
}

/** A long list is cut: the provider has all. */
const MAX_LISTED = 100;

/** The repositories of the installation, and the App's webhook. */
export function AppSection({
  integration: { type, app, repositories, isPolled },
  pages,
  hook,
  path,
  now,
  isOwner,
}: {
  integration: Integration;
  pages: AppPages;
  hook: Hook | null;
  path: string;
  now: Date;
  isOwner: boolean;
}) {
  const { name } = providerOf(type);
  const listed = repositories.slice(0, MAX_LISTED);
  return (
    <>
      <p class="hint">
        One webhook serves all repositories of the installation. Tidings signs in with tokens that expire
        after an hour.
      </p>
      <p>
        Webhook: <HookState hook={hook} now={now} />
      </p>
      {listed.length === 0 ? (
        <p class="dim">
          {app?.installationId === null ? 'No repositories yet.' : 'The installation has no repositories.'}
        </p>
      ) : (
        <Table
          caption="Repositories of the installation"
          rows={listed}
          columns={[{ title: 'Repository', cell: ({ fullName }) => fullName }]}
        />
      )}
      {repositories.length > listed.length ? (
        <p class="dim">
          And {counted(repositories.length - listed.length, 'more repository', 'more repositories')}.
        </p>
      ) : null}
      {isOwner ? (
        <div class="bar">
          <LinkButton to={pages.install} label={`Choose repositories at ${name}`} />
          <Action to={`${path}/refresh`} label="Refresh repositories" busy="Refreshing…" isOnce />
          <LinkButton to={`${path}/check`} label="Check integration" />
          <LinkButton to={`${path}/missed`} label="Missed deliveries" />
          <LinkButton to={`${path}/key`} label="Replace key" />
          {isPolled || repositories.length === 0 ? null : (
            <LinkButton to={`${path}/polling`} label="Use polling" />
          )}
          <Action to={`${path}/repair`} label="Repair webhook" busy="Repairing…" isOnce />
        </div>
      ) : null}
    </>
  );
}

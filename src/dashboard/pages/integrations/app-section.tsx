/** @jsxRuntime automatic @jsxImportSource preact */
import type { Hook, Integration } from '../../../integrations/model.ts';
import type { AppPages } from '../../../providers/app.ts';
import { providerOf } from '../../../providers/index.ts';
import type { MemberVisit } from '../../page.ts';
import { counted, LinkButton, Table } from '../../view/elements.tsx';
import { Action } from '../../view/form.tsx';
import { HookState } from './hook-state.tsx';
import { exactTime } from './words.ts';

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

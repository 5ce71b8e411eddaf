/** @jsxRuntime automatic @jsxImportSource preact */
import type { IntegrationType } from '../../../integrations/model.ts';
import type { DashboardDeps } from '../../page.ts';
import { Field } from '../../view/form.tsx';

/** The field's name. What it holds is never written into a page. */
export const TOKEN_FIELD = 'apiToken';

/** Where a provider's token is typed, with what it has to be and where it is made. */
export function TokenField({
  type,
  deps,
  error,
  autoFocus = false,
}: {
  type: IntegrationType;
  deps: Pick<DashboardDeps, 'hasOwnGithub'>;
  error?: string | undefined;
  autoFocus?: boolean;
}) {
  return (
    <Field
      label={type === 'github' ? 'Token of GitHub' : 'API key of Linear'}
      name={TOKEN_FIELD}
      id={`field-token-${type}`}
      type="password"
      autoFocus={autoFocus}
      hint={type === 'github' ? <GithubToken hasOwn={deps.hasOwnGithub === true} /> : <LinearKey />}
      error={error ?? null}
    />
  );
}

function GithubToken({ hasOwn }: { hasOwn: boolean }) {
  return (
    <>
      {hasOwn ? (
        'A fine-grained token'
      ) : (
        <Away to="settings/personal-access-tokens/new">A fine-grained token</Away>
      )}{' '}
      with the permission “Webhooks: read and write” on the repositories, or{' '}
      {hasOwn ? (
        'a classic one'
      ) : (
        <Away to="settings/tokens/new?description=Tidings&scopes=admin:repo_hook">a classic one</Away>
      )}{' '}
      with the scope <code>admin:repo_hook</code>. It is kept encrypted.
    </>
  );
}

function Away({ to, children }: { to: string; children: string }) {
  return (
    <a href={`https://github.com/${to}`} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

function LinearKey() {
  return (
    <>
      <a href="https://linear.app/settings/account/security" target="_blank" rel="noopener noreferrer">
        A personal API key
      </a>{' '}
      of one of the workspace's admins. It is kept encrypted.
    </>
  );
}

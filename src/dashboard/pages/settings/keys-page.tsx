/** @jsxRuntime automatic @jsxImportSource preact */
import type { ApiKey } from '../../../keys/model.ts';
import type { AppError } from '../../../lib/app-error.ts';
import type { MemberVisit } from '../../page.ts';
import { SettingsTabs } from '../../view/settings-tabs.tsx';
import { KeyRow } from './key-row.tsx';
import { NewKeyForm, readNewKey } from './new-key.tsx';

/** How many keys one page shows. */
const PAGE_SIZE = 50;

/** The keys, or why they cannot be listed. */
export type KeyList = { keys: ApiKey[] } | { trouble: AppError };

export function KeysPage({
  visit,
  list,
  error,
  refusal,
  isSentAgain = false,
  isChange = false,
}: {
  visit: MemberVisit;
  list: KeyList;
  /** What was wrong with the form. */
  error?: string;
  /** Why a key was not changed. */
  refusal?: string;
  /** The form was sent before. */
  isSentAgain?: boolean;
  /** Something was to be changed when the trouble came. */
  isChange?: boolean;
}) {
  const { base, role, form } = visit;
  const given = readNewKey(isSentAgain ? new URLSearchParams() : form);
  const isEmpty = 'keys' in list && list.keys.length === 0;
  return (
    <>
      <h1>API keys</h1>
      <SettingsTabs base={base} isOwner={role === 'owner'} current="settings/keys" />
      <p class="lede">
        Your site reads posts with a key. Keep keys on the server, and make one for each environment.
        {isEmpty && role === 'owner' ? ' There is none yet: the first is made here.' : ''}
        {role === 'owner' ? '' : ' Owners make and revoke them.'}
      </p>
      {refusal === undefined ? null : (
        <p class="note" role="alert">
          <strong>The key was not changed.</strong> {refusal}
        </p>
      )}
      {isSentAgain ? (
        <p class="note" role="alert">
          This form was sent before, and no other key was made. The one that it made is in the list; its value
          was shown then and cannot be shown again. If you did not copy it, revoke it and make another.
        </p>
      ) : null}
      {role === 'owner' ? (
        <NewKeyForm
          action={`${base}/settings/keys`}
          given={given}
          error={error}
          isOpen={error !== undefined || isEmpty || isChange}
        />
      ) : null}
      {'keys' in list ? (
        <KeyTable visit={visit} keys={list.keys} />
      ) : (
        <Outage trouble={list.trouble} isChange={isChange} />
      )}
    </>
  );
}

function KeyTable({ visit, keys }: { visit: MemberVisit; keys: ApiKey[] }) {
  const { base, url, role } = visit;
  if (keys.length === 0) return role === 'owner' ? null : <p>No key has been made yet.</p>;
  const pageCount = Math.ceil(keys.length / PAGE_SIZE);
  const asked = Number(url.searchParams.get('page') ?? '1');
  const page = Number.isInteger(asked) ? Math.min(Math.max(asked, 1), pageCount) : 1;
  const to = (target: number) => `${base}/settings/keys?page=${target}`;
  return (
    <>
      <div class="card">
        <table class="list keys">
          <caption class="hidden">API keys, newest first</caption>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Key</th>
              <th scope="col">Created</th>
              <th scope="col">Last call</th>
              <th scope="col">Expires</th>
              <th scope="col">Status</th>
              {role === 'owner' ? (
                <th scope="col">
                  <span class="hidden">What you can do</span>
                </th>
              ) : null}
            </tr>
          </thead>
          <tbody>
            {keys.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE).map((key) => (
              <KeyRow key={key.id} visit={visit} apiKey={key} />
            ))}
          </tbody>
        </table>
      </div>
      {pageCount > 1 ? (
        <nav class="pages" aria-label="Pages">
          {page > 1 ? <a href={to(page - 1)}>Newer</a> : <span />}
          {page < pageCount ? <a href={to(page + 1)}>Older</a> : <span />}
        </nav>
      ) : null}
    </>
  );
}

/** Calm: nothing is lost, and there is something to do. */
function Outage({ trouble, isChange }: { trouble: AppError; isChange: boolean }) {
  const isDown = trouble.status === 503;
  return (
    <div class="note" role="alert">
      <p>
        <strong>
          {isDown ? 'Unkey, which keeps the keys, does not answer just now.' : 'The keys cannot be shown.'}
        </strong>{' '}
        {isDown
          ? 'No key is lost: those there are work again as soon as it answers.'
          : trouble.message.replace(/\.?$/, '.')}
      </p>
      <p>
        {isChange
          ? 'Whether what you asked for was done is not certain. Open the list in a minute, and look before you do it again.'
          : 'Reload this page in a minute.'}
      </p>
    </div>
  );
}

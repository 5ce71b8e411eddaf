/** @jsxRuntime automatic @jsxImportSource preact */

import { type ApiKey, type CreatedKey, READ_PERMISSION } from '../../../keys/model.ts';
import { getOwnKey, KeyServiceUnavailable, quietDays } from '../../../keys/service.ts';
import { describeKeyWarning, describeRevocation } from '../../../keys/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import { DAY_MS } from '../../../lib/time.ts';
import { get, type MemberVisit, type Page, post, redirect, type View, view } from '../../page.ts';
import { once, readFields } from '../../submission.ts';
import { SettingsHead } from '../../view/document.tsx';
import { Pager, Table, When } from '../../view/elements.tsx';
import { Action } from '../../view/form.tsx';
import { createdKeyPage, expiryOf, NewKey, NewKeyForm } from './new-key.tsx';

const PATH = '/dashboard/:organizationId/settings/keys';
const PAGE_SIZE = 50;

/** A key that expires within this time stands out. */
const SOON_MS = 14 * DAY_MS;

const REFUSED = 'the key service refused a change';

export const keyPages: readonly Page[] = [
  get(PATH, 'member', (visit) => showKeys(visit)),

  // The response shows the key's value, once. A redirect would need to carry it in a URL or a cookie.
  post(PATH, 'owner', async (visit) => {
    const { deps, form } = visit;
    try {
      const created = await once(deps.db, form.get('mark'), () => createKey(visit));
      if (created === null) return showKeys(visit, { isSentAgain: true });
      if (created.warning !== undefined)
        deps.log.warn({ keyId: created.id }, describeKeyWarning(created.warning));
      return createdKeyPage(visit, created);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (error instanceof KeyServiceUnavailable) return showOutage(visit, error);
      if (error.status >= 500) deps.log.warn({ err: error }, REFUSED);
      return showKeys(visit, { error });
    }
  }),

  post(`${PATH}/:keyId/revoke`, 'owner', (visit) =>
    changeKey(visit, async ({ id, name }) => {
      const { keys } = visit.deps;
      await keys.revokeKey(id);
      return `“${name}” is revoked. ${describeRevocation(keys)}`;
    }),
  ),

  post(`${PATH}/:keyId/delete`, 'owner', (visit) =>
    changeKey(visit, async ({ id, name }) => {
      await visit.deps.keys.deleteKey(id);
      return `“${name}” is deleted.`;
    }),
  ),
];

function createKey({ deps, organization, form }: MemberVisit): Promise<CreatedKey> {
  const values = readFields(NewKey, form);
  return deps.keys.createKey({
    organizationId: organization.id,
    name: values.name.trim(),
    permissions: [READ_PERMISSION],
    expiresAt: expiryOf(values, deps.clock.now()),
  });
}

/** Changes a key of the organization. A refusal and an outage show the page with an explanation. */
async function changeKey(visit: MemberVisit, change: (key: ApiKey) => Promise<string>) {
  const { deps, organization, params, base } = visit;
  try {
    const key = await getOwnKey(deps, organization.id, params.keyId ?? '');
    return redirect(`${base}/settings/keys`, await change(key));
  } catch (error) {
    if (error instanceof KeyServiceUnavailable) return showOutage(visit, error);
    if (!(error instanceof AppError) || error.status < 500) throw error;
    deps.log.warn({ err: error }, REFUSED);
    return showKeys(visit, { refusal: error });
  }
}

/** `error`: of the form. `refusal`: of a change to a key. */
interface Outcome {
  error?: AppError;
  refusal?: AppError;
  isSentAgain?: boolean;
}

async function showKeys(visit: MemberVisit, outcome: Outcome = {}): Promise<View> {
  const { deps, organization } = visit;
  try {
    return keysPage(visit, { keys: await deps.keys.listKeys(organization.id), ...outcome });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    deps.log.warn({ err: error }, 'the keys could not be listed');
    return keysPage(visit, { trouble: error, ...outcome });
  }
}

/** Does not list the keys: the key service has just failed to respond. */
function showOutage(visit: MemberVisit, error: AppError): View {
  visit.deps.log.warn({ err: error }, 'a key could not be changed');
  return keysPage(visit, { trouble: error, isChange: true });
}

function keysPage(
  visit: MemberVisit,
  {
    keys,
    trouble,
    isChange = false,
    error,
    refusal,
    isSentAgain = false,
  }: Outcome & { keys?: readonly ApiKey[]; trouble?: AppError; isChange?: boolean },
): View {
  const { role, form } = visit;
  const isOwner = role === 'owner';
  const isEmpty = keys?.length === 0;
  const status = isChange ? 503 : isSentAgain ? 409 : ((error ?? refusal)?.status ?? 200);
  return view(
    'API keys',
    <>
      <SettingsHead title="API keys" visit={visit} current="settings/keys" />
      <p class="lede">
        Your site reads posts with a key. Keep keys on the server, and create one for each environment.
        {isEmpty && isOwner ? ' There is none yet: create the first here.' : ''}
        {isOwner ? '' : ' Owners create and revoke them.'}
      </p>
      {refusal === undefined ? null : (
        <p class="note" role="alert">
          <strong>The key was not changed.</strong> {refusal.message}
        </p>
      )}
      {isSentAgain ? (
        <p class="note" role="alert">
          This form was sent before, so no other key was created. The first one is in the list; its value
          can't be shown again. If you did not copy it, revoke it and create another.
        </p>
      ) : null}
      {isOwner ? (
        <NewKeyForm
          visit={visit}
          values={isSentAgain ? new URLSearchParams() : form}
          error={error}
          isOpen={error !== undefined || isEmpty || isChange}
        />
      ) : null}
      {trouble === undefined ? (
        <Keys visit={visit} keys={keys ?? []} />
      ) : (
        <Outage trouble={trouble} isChange={isChange} />
      )}
    </>,
    { section: 'keys', status },
  );
}

function Keys({ visit, keys }: { visit: MemberVisit; keys: readonly ApiKey[] }) {
  const { base, url, role, deps } = visit;
  if (keys.length === 0) return role === 'owner' ? null : <p>There is no key yet.</p>;
  const now = deps.clock.now();
  const pageCount = Math.ceil(keys.length / PAGE_SIZE);
  const requested = Number(url.searchParams.get('page') ?? '1');
  const page = Number.isInteger(requested) ? Math.min(Math.max(requested, 1), pageCount) : 1;
  const to = (target: number) => `${base}/settings/keys?page=${target}`;
  return (
    <>
      <Table
        caption="API keys, newest first"
        kind="keys"
        rows={keys.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE)}
        columns={[
          {
            title: 'Name',
            cell: (key) => (
              <>
                <strong>{key.name}</strong>
                <Advice apiKey={key} now={now} />
              </>
            ),
          },
          {
            title: 'Key',
            cell: ({ prefix, permissions }) => (
              <>
                <code>{prefix}…</code>
                <div class="hint">{permissions.join(', ')}</div>
              </>
            ),
          },
          { title: 'Created', isLabeled: true, cell: ({ createdAt }) => <When at={createdAt} now={now} /> },
          {
            title: 'Last call',
            isLabeled: true,
            cell: ({ lastUsedAt }) =>
              lastUsedAt === null ? <span class="dim">Never</span> : <When at={lastUsedAt} now={now} />,
          },
          { title: 'Expires', isLabeled: true, cell: (key) => <Expiry apiKey={key} now={now} /> },
          { title: 'Status', cell: ({ status }) => <span class={`tag ${status}`}>{status}</span> },
          role !== 'owner'
            ? null
            : {
                title: 'Actions',
                isTitleHidden: true,
                class: 'end',
                cell: (key) => <Ending visit={visit} apiKey={key} now={now} />,
              },
        ]}
      />
      {pageCount > 1 ? (
        <Pager
          back={page > 1 ? { to: to(page - 1), label: 'Newer' } : null}
          next={page < pageCount ? { to: to(page + 1), label: 'Older' } : null}
        />
      ) : null}
    </>
  );
}

/** Suggests to revoke a key that is not used. */
function Advice({ apiKey, now }: { apiKey: ApiKey; now: Date }) {
  const days = quietDays(apiKey, now);
  if (days === null) return null;
  return (
    <div class="hint">
      {apiKey.lastUsedAt === null ? `Never used in ${days} days` : `No call for ${days} days`}: safe to revoke
    </div>
  );
}

function Expiry({ apiKey: { expiresAt, status }, now }: { apiKey: ApiKey; now: Date }) {
  if (expiresAt === null) return <span class="dim">Never</span>;
  const isSoon = status === 'active' && Date.parse(expiresAt) - now.getTime() < SOON_MS;
  return (
    <span class={isSoon ? 'tag soon' : ''}>
      <When at={expiresAt} now={now} />
    </span>
  );
}

/** Revokes an active key; deletes one that has ended. */
function Ending({ visit, apiKey, now }: { visit: MemberVisit; apiKey: ApiKey; now: Date }) {
  const { id, name, status, lastUsedAt } = apiKey;
  const path = `${visit.base}/settings/keys/${encodeURIComponent(id)}`;
  if (status !== 'active') {
    return (
      <details class="danger">
        <summary>
          Delete<span class="hidden"> {name}</span>
        </summary>
        <p>The key is already {status}. Deleting it removes it from this list for good.</p>
        <Action to={`${path}/delete`} label="Delete this key" kind="bad" />
      </details>
    );
  }
  return (
    <details class="danger">
      <summary>
        Revoke<span class="hidden"> {name}</span>
      </summary>
      <p>
        Sites that read posts with “{name}” get 401. {describeRevocation(visit.deps.keys)} You can't undo
        this.{' '}
        {lastUsedAt === null ? (
          'It has not been used yet.'
        ) : (
          <>
            Its last call: <When at={lastUsedAt} now={now} />.
          </>
        )}
      </p>
      <Action to={`${path}/revoke`} label="Revoke this key" kind="bad" />
    </details>
  );
}

function Outage({ trouble, isChange }: { trouble: AppError; isChange: boolean }) {
  const isDown = trouble.status === 503;
  return (
    <div class="note" role="alert">
      <p>
        <strong>
          {isDown ? 'Unkey, which keeps the keys, does not respond just now.' : 'The keys cannot be shown.'}
        </strong>{' '}
        {isDown
          ? 'No key is lost: all keys work again as soon as it responds.'
          : trouble.message.replace(/\.?$/, '.')}
      </p>
      <p>
        {isChange
          ? 'Tidings does not know whether your change was made. Open the list in a minute, and check before you do it again.'
          : 'Reload this page in a minute.'}
      </p>
    </div>
  );
}

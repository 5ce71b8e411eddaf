/** @jsxRuntime automatic @jsxImportSource preact */
import type { ApiKey } from '../../../keys/model.ts';
import { quietDays } from '../../../keys/service.ts';
import { DAY_MS } from '../../../lib/time.ts';
import type { MemberVisit } from '../../page.ts';
import { Action } from '../../view/form.tsx';
import { When } from '../../view/when.tsx';

/** From when on an expiry that comes near stands out, in milliseconds. */
const SOON_MS = 14 * DAY_MS;

export function KeyRow({ visit, apiKey }: { visit: MemberVisit; apiKey: ApiKey }) {
  const { name, prefix, permissions, createdAt, lastUsedAt, expiresAt, status } = apiKey;
  const now = visit.deps.clock.now();
  return (
    <tr>
      <td>
        <strong>{name}</strong>
        <Advice apiKey={apiKey} now={now} />
      </td>
      <td>
        <code>{prefix}…</code>
        <div class="hint">{permissions.join(', ')}</div>
      </td>
      <td data-label="Created">
        <When at={createdAt} now={now} />
      </td>
      <td data-label="Last call">
        {lastUsedAt === null ? <span class="dim">Never</span> : <When at={lastUsedAt} now={now} />}
      </td>
      <td data-label="Expires">
        <Expiry expiresAt={expiresAt} isActive={status === 'active'} now={now} />
      </td>
      <td>
        <span class={`tag ${status}`}>{status}</span>
      </td>
      {visit.role === 'owner' ? (
        <td class="end">
          <Ending visit={visit} apiKey={apiKey} now={now} />
        </td>
      ) : null}
    </tr>
  );
}

/** Whether the key can go. */
function Advice({ apiKey, now }: { apiKey: ApiKey; now: Date }) {
  const days = quietDays(apiKey, now);
  if (days === null) return null;
  return (
    <div class="hint">
      {apiKey.lastUsedAt === null ? `Never used in ${days} days` : `No call for ${days} days`}: safe to revoke
    </div>
  );
}

function Expiry({ expiresAt, isActive, now }: { expiresAt: string | null; isActive: boolean; now: Date }) {
  if (expiresAt === null) return <span class="dim">Never</span>;
  const isSoon = isActive && Date.parse(expiresAt) - now.getTime() < SOON_MS;
  return (
    <span class={isSoon ? 'tag soon' : ''}>
      <When at={expiresAt} now={now} />
    </span>
  );
}

/** Ends an active key; takes one that has ended off the list. */
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
        Sites that read posts with “{name}” get 401. {visit.deps.keys.revocationDelay} You can't undo this.{' '}
        {lastUsedAt === null ? (
          'No call has come with it so far.'
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

import { type Static, Type } from '@sinclair/typebox';
import { AppError } from '../../../lib/app-error.ts';
import { DAY_MS, formatTime, parseInZone } from '../../../lib/time.ts';
import {
  type ApiKey,
  type CreatedKey,
  describeKeyWarning,
  describeRevocation,
  getOwnKey,
  type KeyService,
  KeyServiceUnavailable,
  quietDays,
  READ_PERMISSION,
  SUGGEST_PERMISSION,
} from '../../../people/keys/store.ts';
import { choiceOf, readFields } from '../../fields.ts';
import {
  type Answer,
  get,
  type MemberVisit,
  type Page,
  post,
  redirect,
  type View,
  view,
} from '../../page.ts';
import { once } from '../../submission.ts';
import { Link, LinkButton, Status, ToCopy, useVisit, When } from '../../view/elements.tsx';
import { Choice, Danger, Field, FormOf, Select } from '../../view/form.tsx';
import { actionsColumn, NumberedPager, pageIn, Table } from '../../view/list.tsx';

const PATH = '/dashboard/:organizationId/settings/keys';
const KEYS = 'settings/keys';
const PAGE_SIZE = 50;

const SOON_MS = 14 * DAY_MS;

const permissionsOf = {
  read: [READ_PERMISSION],
  suggest: [READ_PERMISSION, SUGGEST_PERMISSION],
} as const;

const expiries = [
  { value: '', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
  { value: 'date', label: 'On a date' },
];

const NewKey = Type.Object({
  name: Type.String({
    label: 'Name',
    hint: 'What uses the key, such as “Website, production”.',
  }),
  access: choiceOf(['read', 'suggest'], { label: 'Permissions', default: 'read' }),
  expiry: Type.String({ label: 'Expires' }),
  date: Type.String({
    label: 'Date',
    inputType: 'date',
    isOptional: true,
    hint: 'The key expires at the beginning of that day.',
    serviceField: 'expiresAt',
    problem: 'Choose a day in the future.',
  }),
});

/** The expiry for the key service, which refuses a text that is no time and a time that has passed. */
function expiryOf({ expiry, date }: Static<typeof NewKey>, now: Date, zone: string): string | null {
  if (expiry === '') return null;
  const days = expiries.some(({ value }) => value === expiry) ? Number(expiry) : 0;
  return days > 0
    ? new Date(now.getTime() + days * DAY_MS).toISOString()
    : (parseInZone(date, zone)?.time.toISOString() ?? date);
}

function NewKeyForm(props: { values: URLSearchParams; error: AppError | undefined; isOpen: boolean }) {
  const { values, error, isOpen } = props;
  return (
    <details class="create" open={isOpen}>
      <summary class="button go">Create New API Key</summary>
      <FormOf
        schema={NewKey}
        {...{ values, error, to: KEYS, button: 'Create key', layout: 'stack card pad', isOnce: true }}
        controls={{
          access: (field) => (
            <Choice
              {...field}
              value={field.value === 'suggest' ? 'suggest' : 'read'}
              options={[
                {
                  value: 'read',
                  label: 'Read posts',
                  hint: (
                    <>
                      For your site: the posts of this organization, including drafts (
                      <code>{READ_PERMISSION}</code>).
                    </>
                  ),
                },
                {
                  value: 'suggest',
                  label: 'Read posts and suggest changes',
                  hint: (
                    <>
                      For an <Link to="publishing/agents">agent</Link>: a person accepts or dismisses each
                      suggestion (<code>{SUGGEST_PERMISSION}</code>).
                    </>
                  ),
                },
              ]}
            />
          ),
          expiry: (field) => <Select {...field} options={expiries} />,
          date: (field) => (
            <div class="on-date">
              <Field {...field} />
            </div>
          ),
        }}
      />
    </details>
  );
}

/** The only page that shows the value of a key. */
function createdKeyPage({ deps, look }: MemberVisit, created: CreatedKey): View {
  const { name, key, warning, organizationId, expiresAt, permissions } = created;
  const curl = `curl -H "Authorization: Bearer ${key}" "${deps.publicUrl()}/v1/${organizationId}/posts"`;
  return view(
    {
      title: 'API keys',
      heading: 'Copy the key now',
      crumbs: [
        { to: 'settings', label: 'Settings' },
        { to: KEYS, label: 'API keys' },
      ],
      facts: `“${name}” is created. Tidings stores a hash of it, so only this page shows the key.`,
    },
    warning !== undefined && (
      <p class="note" role="alert">
        <strong>Check this key before you use it.</strong> {describeKeyWarning(warning)}
      </p>
    ),
    <div class="note">
      <ToCopy text={key} label="Copy key" />
    </div>,
    <h2>Your first call</h2>,
    <p>This call returns the published posts:</p>,
    <ToCopy text={curl} label="Copy command" />,
    <p class="hint">
      Keep the key on the server, in an environment variable or a secret store. Never put it in a page or an
      app.
      {expiresAt === null ? '' : ` It expires on ${formatTime(expiresAt, look.zone)}.`}
    </p>,
    <div class="bar after">
      <LinkButton to={KEYS} label="Back to API keys" />
      <Link to="start">Open first steps</Link>
      {permissions.includes(SUGGEST_PERMISSION) && <Link to="publishing/agents">Connect an agent</Link>}
    </div>,
  );
}

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => showKeys(visit)),

  // The response shows the key's value, once. A redirect would need to carry it in a URL or a cookie.
  post(PATH, 'owner', (visit) =>
    change(visit, async () => {
      const { deps, form } = visit;
      const created = await once(deps, form.get('mark'), () => createKey(visit));
      if (created === null) return showKeys(visit, { isSentAgain: true });
      const { id, warning } = created;
      if (warning !== undefined) deps.log.warn({ keyId: id }, describeKeyWarning(warning));
      return createdKeyPage(visit, created);
    }),
  ),

  post(`${PATH}/:keyId/revoke`, 'owner', (visit) =>
    changeKey(visit, async ({ id, name }, keys) => {
      await keys.revokeKey(id);
      return `“${name}” is revoked. ${describeRevocation(keys)}`;
    }),
  ),

  post(`${PATH}/:keyId/delete`, 'owner', (visit) =>
    changeKey(visit, async ({ id, name }, keys) => {
      await keys.deleteKey(id);
      return `“${name}” is deleted.`;
    }),
  ),
];

function createKey({ deps, organization, form, look }: MemberVisit): Promise<CreatedKey> {
  const values = readFields(NewKey, form);
  return deps.keys.createKey({
    organizationId: organization.id,
    name: values.name.trim(),
    permissions: [...permissionsOf[values.access]],
    expiresAt: expiryOf(values, deps.clock.now(), look.zone),
  });
}

function changeKey(visit: MemberVisit, work: (key: ApiKey, keys: KeyService) => Promise<string>) {
  const { deps, organization, params } = visit;
  return change(visit, async () => {
    const key = await getOwnKey(deps, organization.id, params.keyId ?? '');
    return redirect(KEYS, await work(key, deps.keys));
  });
}

/** Shows the page again, with an explanation, for an invalid form, a refusal of Unkey and an outage. */
async function change(visit: MemberVisit, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || error.status === 404) throw error;
    if (error.status >= 500) visit.deps.log.warn({ err: error }, 'a key could not be changed');
    return showKeys(visit, error instanceof KeyServiceUnavailable ? { outage: error } : { error });
  }
}

/** Shows the keys. `error`: a change was refused. `outage`: Unkey did not respond to a change. */
async function showKeys(
  visit: MemberVisit,
  { error, outage, isSentAgain = false }: { error?: AppError; outage?: AppError; isSentAgain?: boolean } = {},
): Promise<View> {
  const { isOwner, form, deps, organization, params } = visit;
  // Unkey has just failed to respond: do not ask it again.
  const keys = outage ?? (await deps.keys.listKeys(organization.id).catch(toTrouble));
  if (keys instanceof AppError && keys !== outage) {
    deps.log.warn({ err: keys }, 'the keys could not be listed');
  }
  const isEmpty = Array.isArray(keys) && keys.length === 0;
  const ofForm = params.keyId === undefined ? error : undefined;
  return view(
    { title: 'API keys', tab: KEYS, ...(isSentAgain ? { status: 409 } : { error: error ?? outage }) },
    <p class="lede">
      Your site reads posts with a key. Keep keys on the server, and create one for each environment.
      {isEmpty && isOwner ? ' No keys yet. Create the first one here.' : ''}
      {isOwner ? '' : ' Owners create and revoke them.'}
    </p>,
    error !== undefined && error !== ofForm && (
      <p class="note" role="alert">
        <strong>The key was not changed.</strong> {error.message}
      </p>
    ),
    isSentAgain && (
      <p class="note" role="alert">
        This form was already submitted, so Tidings created no other key. The first key is in the list, but
        Tidings can't show its value again. If you did not copy it, revoke it and create another.
      </p>
    ),
    isOwner && (
      <NewKeyForm
        values={isSentAgain ? new URLSearchParams() : form}
        error={ofForm}
        isOpen={ofForm !== undefined || isEmpty || outage !== undefined}
      />
    ),
    keys instanceof AppError ? (
      <Outage trouble={keys} isChange={outage !== undefined} />
    ) : (
      <Keys keys={keys} />
    ),
  );
}

function toTrouble(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}

function Keys({ keys }: { keys: readonly ApiKey[] }) {
  const { url, isOwner } = useVisit();
  if (keys.length === 0) return isOwner ? null : <p>No keys yet.</p>;
  const pages = Math.ceil(keys.length / PAGE_SIZE);
  const page = Math.min(pageIn(url.searchParams), pages);
  return (
    <>
      <Table
        caption="API keys, newest first"
        kind="keys"
        rows={keys.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE)}
        columns={[
          {
            title: 'Name',
            cell: (key) => [<strong>{key.name}</strong>, <Advice apiKey={key} />],
          },
          {
            title: 'Key',
            cell: ({ prefix, permissions }) => [
              <code>{prefix}…</code>,
              <div class="hint">{permissions.join(', ')}</div>,
            ],
          },
          { title: 'Created', isLabeled: true, cell: ({ createdAt }) => <When at={createdAt} /> },
          {
            title: 'Last used',
            isLabeled: true,
            cell: ({ lastUsedAt }) =>
              lastUsedAt === null ? <span class="dim">Never</span> : <When at={lastUsedAt} />,
          },
          { title: 'Expires', isLabeled: true, cell: (key) => <Expiry apiKey={key} /> },
          { title: 'Status', cell: ({ status }) => <Status status={status} /> },
          isOwner && { ...actionsColumn, cell: (key) => <Ending apiKey={key} /> },
        ]}
      />
      <NumberedPager page={page} hasMore={page < pages} path={KEYS} />
    </>
  );
}

function Advice({ apiKey }: { apiKey: ApiKey }) {
  const days = quietDays(apiKey, useVisit().now);
  if (days === null) return null;
  const quiet = apiKey.lastUsedAt === null ? `Never used in ${days} days` : `Not used for ${days} days`;
  return <div class="hint">{quiet}: safe to revoke</div>;
}

function Expiry({ apiKey: { expiresAt, status } }: { apiKey: ApiKey }) {
  const { now } = useVisit();
  if (expiresAt === null) return <span class="dim">Never</span>;
  const isSoon = status === 'active' && Date.parse(expiresAt) - now.getTime() < SOON_MS;
  return (
    <span class={isSoon ? 'tag soon' : ''}>
      <When at={expiresAt} />
    </span>
  );
}

function Ending({ apiKey: { id, name, status, lastUsedAt } }: { apiKey: ApiKey }) {
  const { deps } = useVisit();
  const path = `${KEYS}/${encodeURIComponent(id)}`;
  return status === 'active' ? (
    <Danger label="Revoke" about={name} to={`${path}/revoke`} button="Revoke key">
      Requests with “{name}” get 401. {describeRevocation(deps.keys)} You can't undo this. Last used:{' '}
      {lastUsedAt === null ? 'never' : <When at={lastUsedAt} />}.
    </Danger>
  ) : (
    <Danger label="Delete" about={name} to={`${path}/delete`} button="Delete key">
      The key is {status}. Deleting it removes it from this list. You can't undo this.
    </Danger>
  );
}

function Outage({ trouble, isChange }: { trouble: AppError; isChange: boolean }) {
  const isDown = trouble.status === 503;
  return (
    <div class="note" role="alert">
      <p>
        <strong>
          {isDown ? 'Unkey, which stores the keys, does not respond.' : "Tidings can't show the keys."}
        </strong>{' '}
        {isDown ? 'No key is lost: all keys work again as soon as it responds.' : trouble.message}
      </p>
      <p>
        {isChange
          ? "Tidings doesn't know if your change was made. Open the list in a minute and check before you repeat it."
          : 'Reload this page in a minute.'}
      </p>
    </div>
  );
}

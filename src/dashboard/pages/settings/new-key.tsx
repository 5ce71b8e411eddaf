/** @jsxRuntime automatic @jsxImportSource preact */
import { type Static, Type } from '@sinclair/typebox';
import { type CreatedKey, READ_PERMISSION, SUGGEST_PERMISSION } from '../../../keys/model.ts';
import { describeKeyWarning } from '../../../keys/words.ts';
import type { AppError } from '../../../lib/app-error.ts';
import { DAY_MS } from '../../../lib/time.ts';
import { type MemberVisit, type View, view } from '../../page.ts';
import { formState } from '../../submission.ts';
import { Select, ToCopy } from '../../view/elements.tsx';
import { Choice, Field, Form } from '../../view/form.tsx';
import { PageHead } from '../../view/layout.tsx';

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

export const NewKey = Type.Object({
  name: Type.String({
    label: 'Name',
    hint: 'What uses the key, such as “Website, production”.',
  }),
  access: Type.Union([Type.Literal('read'), Type.Literal('suggest')], {
    label: 'Permissions',
    default: 'read',
  }),
  expiry: Type.String({ label: 'Expires' }),
  date: Type.String({
    label: 'Date',
    inputType: 'date',
    hint: 'The key expires on that day at 00:00 UTC.',
    serviceField: 'expiresAt',
    problem: 'Choose a day in the future.',
  }),
});

/** The permissions for the key service. */
export function permissionsFor({ access }: Pick<Static<typeof NewKey>, 'access'>): string[] {
  return [...permissionsOf[access]];
}

/** The expiry for the key service, which refuses a text that is no time and a time that has passed. */
export function expiryOf({ expiry, date }: Static<typeof NewKey>, now: Date): string | null {
  if (expiry === '') return null;
  const days = expiries.some(({ value }) => value === expiry) ? Number(expiry) : 0;
  return days > 0 ? new Date(now.getTime() + days * DAY_MS).toISOString() : date;
}

export function NewKeyForm(props: {
  base: string;
  values: URLSearchParams;
  error: AppError | undefined;
  isOpen: boolean;
}) {
  const { fields, problem } = formState(NewKey, props.values, props.error);
  const to = `${props.base}/settings/keys`;
  return (
    <details class="create" open={props.isOpen}>
      <summary class="button go">Create New API Key</summary>
      <Form to={to} problem={problem} button="Create key" layout="stack card pad" isOnce>
        <Field {...fields.name} />
        <Choice
          {...fields.access}
          value={fields.access.value === 'suggest' ? 'suggest' : 'read'}
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
                  For an <a href={`${props.base}/publishing/agents`}>agent</a>: a person accepts or dismisses
                  each suggestion (<code>{SUGGEST_PERMISSION}</code>).
                </>
              ),
            },
          ]}
        />
        <Select {...fields.expiry} options={expiries} />
        <div class="on-date">
          <Field {...fields.date} required={false} />
        </div>
      </Form>
    </details>
  );
}

/** The only page that shows the value of a key. */
export function createdKeyPage(visit: MemberVisit, created: CreatedKey): View {
  const { base, deps } = visit;
  const { name, key, warning, organizationId, expiresAt, permissions } = created;
  const curl = `curl -H "Authorization: Bearer ${key}" "${deps.publicUrl()}/v1/${organizationId}/posts"`;
  return view(
    'API keys',
    <>
      <PageHead
        title="Copy the key now"
        crumbs={[
          { to: `${base}/settings`, label: 'Settings' },
          { to: `${base}/settings/keys`, label: 'API keys' },
        ]}
        facts={`“${name}” is created. Tidings stores a hash of it, so only this page shows the key.`}
      />
      {warning === undefined ? null : (
        <p class="note" role="alert">
          <strong>Check this key before you use it.</strong> {describeKeyWarning(warning)}
        </p>
      )}
      <div class="note">
        <ToCopy text={key} label="Copy key" />
      </div>
      <h2>Your first call</h2>
      <p>This call returns the published posts:</p>
      <ToCopy text={curl} label="Copy command" />
      <p class="hint">
        Keep the key on the server, in an environment variable or a secret store. Never put it in a page or an
        app.
        {expiresAt === null ? '' : ` It expires on ${expiresAt.slice(0, 10)}.`}
      </p>
      <div class="bar after">
        <a class="button" href={`${base}/settings/keys`}>
          Back to API keys
        </a>
        <a href={`${base}/start`}>Open first steps</a>
        {permissions.includes(SUGGEST_PERMISSION) ? (
          <a href={`${base}/publishing/agents`}>Connect an agent</a>
        ) : null}
      </div>
    </>,
    { section: 'settings' },
  );
}

import { Type } from '@sinclair/typebox';
import type { AppError } from '../../../lib/app-error.ts';
import { listMessages } from '../../../readers/hooks/message-store.ts';
import {
  type HookKind,
  hookKinds,
  hookSubjects,
  isDeploy,
  kindWords,
  listHooks,
  messageStatus,
  subjectWords,
  typeWords,
} from '../../../readers/hooks/model.ts';
import { createHook } from '../../../readers/hooks/service.ts';
import { choiceOf } from '../../fields.ts';
import { get, type MemberVisit, type Page, redirect, view } from '../../page.ts';
import { postForm } from '../../submission.ts';
import { Link, LinkButton, Segments, Status, ToCopy, When } from '../../view/elements.tsx';
import { Choice, Field, FormOf } from '../../view/form.tsx';
import { Empty, Table } from '../../view/list.tsx';

const PATH = '/dashboard/:organizationId/publishing/hooks';
const HOOKS = 'publishing/hooks';

const HookForm = Type.Object({
  kind: Type.String(),
  about: choiceOf(hookSubjects, { label: 'What to send', subject: 'What to send', default: 'posts' }),
  name: Type.String({ label: 'Name', hint: 'What the hook is for, such as “Website”.' }),
  url: Type.String({ label: 'URL', subject: 'The URL', autoComplete: 'off' }),
});

export const routes: readonly Page[] = [
  get(PATH, 'member', showHooks),

  get(`${PATH}/~/new`, 'owner', async (visit) => showForm(visit)),

  // The response shows the signing secret, once.
  postForm(
    PATH,
    'owner',
    HookForm,
    showForm,
    async ({ deps, organization }, { kind, about, name, url }) => {
      const input = { organizationId: organization.id, name, about, url, kind: kind as HookKind };
      const { id, name: stored, secret } = await createHook(deps, input);
      if (secret === null) return redirect(`${HOOKS}/${id}`, 'Hook added.');
      return secretPage({ id, name: stored, secret }, 'is added');
    },
    () => redirect(HOOKS, 'This form was already submitted. See the list.'),
  ),
];

export const crumbs = [
  { to: 'publishing', label: 'Publishing' },
  { to: HOOKS, label: 'Hooks' },
];

async function showHooks({ deps, organization, isOwner }: MemberVisit) {
  const rows = await deps.db.read(async (tx) => {
    const hooks = await listHooks(tx, organization.id);
    const lasts = await Promise.all(hooks.map(({ id }) => listMessages(tx, id, { limit: 1 })));
    return hooks.map((hook, at) => ({ ...hook, last: lasts[at]?.[0] }));
  });
  const add = isOwner && <LinkButton to={`${HOOKS}/~/new`} label="Add hook" kind="go" />;
  return view(
    { title: 'Hooks', tab: HOOKS },
    <p class="lede">
      A hook tells another service when a published changelog post changes: it rebuilds your site or announces
      the post. Drafts are never sent. Or it tells a channel what needs attention.
      {isOwner ? '' : ' Owners add hooks.'}
    </p>,
    rows.length === 0 ? (
      <Empty>
        <p>No hooks yet. Each request to a hook will appear here.</p>
        {add}
      </Empty>
    ) : (
      <>
        <Table
          caption="Hooks, oldest first"
          kind="hooks"
          rows={rows}
          columns={[
            {
              title: 'Name',
              isMain: true,
              cell: ({ id, name, kind, about, host }) => (
                <>
                  <Link to={`${HOOKS}/${id}`}>{name}</Link>
                  <div class="hint">
                    {kindWords[kind].name} at {host}
                    {about !== 'posts' && `: ${subjectWords[about].name}`}
                  </div>
                </>
              ),
            },
            {
              title: 'Status',
              class: 'short',
              cell: ({ isEnabled }) => <Status status={isEnabled ? 'active' : 'disabled'} />,
            },
            {
              title: 'Last message',
              isLabeled: true,
              cell: ({ last }) =>
                last === undefined ? (
                  <span class="dim">None</span>
                ) : (
                  <span title={`${typeWords[last.type]}: ${last.title}`}>
                    <Status status={messageStatus(last)} />
                  </span>
                ),
            },
            {
              title: 'Date',
              class: 'end dim',
              cell: ({ last }) => (last?.createdAt ? <When at={last.createdAt} /> : null),
            },
          ]}
        />
        <div class="bar after">{add}</div>
      </>
    ),
  );
}

function showForm({ url, form }: MemberVisit, error?: AppError) {
  const given = form.get('kind') ?? url.searchParams.get('kind');
  const kind = hookKinds.find((each) => each === given) ?? 'signed';
  const { does, urlHint } = kindWords[kind];
  const asked = url.searchParams.get('about');
  return view(
    { title: 'Add hook', crumbs, facts: isDeploy(kind) && does, error },
    <Segments
      label="Kind of hook"
      items={hookKinds.map((each) => ({
        to: `${HOOKS}/~/new?${new URLSearchParams({ kind: each, ...(asked !== null && { about: asked }) })}`,
        label: kindWords[each].name,
        isCurrent: each === kind,
      }))}
    />,
    <FormOf
      schema={HookForm}
      hidden={{ kind, ...(isDeploy(kind) && { about: 'posts' }) }}
      {...{ error, to: HOOKS, button: 'Add hook', layout: 'stack card pad', isOnce: true, asks: true }}
      controls={{
        about: ({ value = asked ?? 'posts', ...field }) => {
          if (isDeploy(kind)) return null;
          const options = hookSubjects.map((each) => ({
            value: each,
            label: subjectWords[each].name,
            hint: each === 'posts' ? does : subjectWords[each].does,
          }));
          return <Choice {...field} {...{ value, options }} />;
        },
        url: (field) => (
          <Field {...field} hint={`${urlHint} Tidings stores it encrypted and shows only its host.`} />
        ),
      }}
    />,
  );
}

/** The only page that shows the signing secret. */
export function secretPage(
  { id, name, secret }: { id: string; name: string; secret: string },
  what: 'is added' | 'has a new secret',
) {
  const facts = `“${name}” ${what}. Only this page shows the secret.`;
  return view(
    { title: 'Hook secret', heading: 'Copy the secret now', crumbs, facts },
    <div class="note">
      <ToCopy text={secret} label="Copy secret" />
    </div>,
    <p>
      The receiver verifies the signature of each request with it. Requests follow{' '}
      <a href="https://www.standardwebhooks.com">Standard Webhooks</a>, which has libraries for most
      languages.
      {what === 'is added'
        ? ''
        : ' The previous secret also signs each request for the next 24 hours, so replace it at the receiver by then.'}
    </p>,
    <div class="bar after">
      <LinkButton to={`${HOOKS}/${id}`} label="Open hook" kind="go" />
    </div>,
  );
}

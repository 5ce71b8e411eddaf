import { Type } from '@sinclair/typebox';
import type { AppError } from '../../../lib/app-error.ts';
import { type HookKind, hookKinds, kindWords } from '../../../readers/hooks/model.ts';
import { createHook } from '../../../readers/hooks/service.ts';
import { formState } from '../../fields.ts';
import { get, type MemberVisit, type Page, post, redirect, type View, view } from '../../page.ts';
import { once, submit } from '../../submission.ts';
import { Link, Segments, ToCopy } from '../../view/elements.tsx';
import { Field, Form, Hidden } from '../../view/form.tsx';

const NEW_PATH = '/dashboard/:organizationId/publishing/hooks';

const HookForm = Type.Object({
  kind: Type.String(),
  name: Type.String({ label: 'Name', hint: 'What the hook is for, such as “Website”.' }),
  url: Type.String({ label: 'URL', subject: 'The URL', autoComplete: 'off' }),
});

export const newHookPages: readonly Page[] = [
  get(`${NEW_PATH}/~/new`, 'owner', async (visit) => showForm(visit)),

  // The response shows the signing secret, once.
  post(NEW_PATH, 'owner', (visit) =>
    submit(
      visit,
      HookForm,
      async ({ kind, name, url }) => {
        const { deps, organization, form } = visit;
        const input = { organizationId: organization.id, name, url, kind: kind as HookKind };
        const created = await once(deps, form.get('mark'), () => createHook(deps, input));
        if (created === null) {
          return redirect('publishing/hooks', 'This form was already submitted. See the list.');
        }
        const { id, secret } = created;
        if (secret === null) return redirect(`publishing/hooks/${id}`, 'Hook added.');
        return secretPage({ id, name: created.name, secret }, 'is added');
      },
      (error) => showForm(visit, error),
    ),
  ),
];

export const crumbs = [
  { to: 'publishing', label: 'Publishing' },
  { to: 'publishing/hooks', label: 'Hooks' },
];

function showForm(visit: MemberVisit, error?: AppError): View {
  const { url, form } = visit;
  const given = form.get('kind') ?? url.searchParams.get('kind');
  const kind = hookKinds.find((each) => each === given) ?? 'signed';
  const { fields, problem } = formState(HookForm, form, error);
  const words = kindWords[kind];
  return view(
    { title: 'Add hook', crumbs, facts: words.does, error },
    <Segments
      label="Kind of hook"
      items={hookKinds.map((each) => ({
        to: `publishing/hooks/~/new?kind=${each}`,
        label: kindWords[each].name,
        isCurrent: each === kind,
      }))}
    />,
    <Form to="publishing/hooks" problem={problem} button="Add hook" layout="stack card pad" isOnce asks>
      <Hidden values={[['kind', kind]]} />
      <Field {...fields.name} />
      <Field {...fields.url} hint={`${words.urlHint} Tidings stores it encrypted and shows only its host.`} />
    </Form>,
  );
}

/** The only page that shows the signing secret. */
export function secretPage(
  { id, name, secret }: { id: string; name: string; secret: string },
  what: 'is added' | 'has a new secret',
): View {
  return view(
    {
      title: 'Hook secret',
      heading: 'Copy the secret now',
      crumbs,
      facts: `“${name}” ${what}. Only this page shows the secret.`,
    },
    <div class="note">
      <ToCopy text={secret} label="Copy secret" />
    </div>,
    <p>
      The receiver verifies the signature of each request with it. Requests follow{' '}
      <a href="https://www.standardwebhooks.com">Standard Webhooks</a>, which has libraries for most
      languages.
      {what === 'is added'
        ? ''
        : ' The previous secret signs each request too for the next 24 hours, so replace it at the receiver by then.'}
    </p>,
    <div class="bar after">
      <Link class="button go" to={`publishing/hooks/${id}`}>
        Open hook
      </Link>
    </div>,
  );
}

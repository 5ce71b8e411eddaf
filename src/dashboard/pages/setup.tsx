/** @jsxRuntime automatic @jsxImportSource preact */
import type { AppError } from '../../lib/app-error.ts';
import { listOrganizations } from '../../organizations/store.ts';
import { requireLink, setUp } from '../../users/service.ts';
import {
  get,
  guardedBy,
  isRefusedForm,
  type Page,
  post,
  redirect,
  refusalOf,
  tokenOf,
  type Visit,
  view,
} from '../page.ts';
import { Field, FormError } from '../view/form.tsx';
import { NewPassword } from '../view/new-password.tsx';
import { problemWith } from '../view/problem.ts';

/** The first run: whoever has the link that the start printed becomes the owner. */
export const setup: readonly Page[] = [
  get('/setup', 'anyone', async (visit) => {
    await requireLink(visit.deps, tokenOf(visit), 'setup');
    return showSetup(visit);
  }),
  post('/setup', 'anyone', async (visit) => {
    const { form, deps } = visit;
    const given = fieldsOf(form);
    try {
      const { session, organizationId } = await setUp(deps, tokenOf(visit), {
        ...given,
        ...guardedBy(visit),
      });
      return { ...redirect(`/dashboard/${organizationId}/start`), session: session.token };
    } catch (error) {
      if (!isRefusedForm(error)) throw error;
      return showSetup(visit, error);
    }
  }),
];

async function showSetup(visit: Visit, refused?: AppError) {
  const error = refused?.message;
  const { form, deps } = visit;
  const { email, organization } = fieldsOf(form);
  const existing = await listOrganizations(deps.db);
  const isAboutField = ['email', 'password', 'name'].some((name) => error?.startsWith(`${name} `));
  return view(
    'Set up Tidings',
    <>
      <h1>Set up Tidings</h1>
      <p class="lede">You are the first here. This makes you the owner.</p>
      <form method="post" action="/setup" class="stack">
        <FormError error={isAboutField ? null : error} />
        <input type="hidden" name="token" value={tokenOf(visit)} />
        <Field
          label="E-mail address"
          name="email"
          type="email"
          value={email}
          autoComplete="username"
          error={problemWith('email', 'The address', error)}
          autoFocus
        />
        <NewPassword message={error} />
        {existing.length === 0 ? (
          <Field
            label="Your team or product"
            name="organization"
            value={organization}
            hint="Posts, keys and integrations belong to it. You can add more later."
            error={problemWith('name', 'The name', error)}
          />
        ) : (
          <p class="hint">You will own {existing.map(({ name }) => name).join(', ')}.</p>
        )}
        <button type="submit" class="button go">
          Begin
        </button>
      </form>
    </>,
    refusalOf(refused),
  );
}

function fieldsOf(form: URLSearchParams) {
  return {
    email: form.get('email') ?? '',
    password: form.get('password') ?? '',
    organization: form.get('organization') ?? '',
  };
}

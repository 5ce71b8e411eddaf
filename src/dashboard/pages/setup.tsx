/** @jsxRuntime automatic @jsxImportSource preact */
import { AppError } from '../../lib/app-error.ts';
import { listOrganizations } from '../../organizations/store.ts';
import { requireLink, setUp } from '../../users/service.ts';
import { get, type Page, post, redirect, tokenOf, type Visit, view } from '../page.ts';
import { Field, FormError } from '../view/form.tsx';

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
      const { session, organizationId } = await setUp(deps, tokenOf(visit), given);
      return { ...redirect(`/dashboard/${organizationId}/start`), session: session.token };
    } catch (error) {
      if (!(error instanceof AppError) || error.status !== 400) throw error;
      return showSetup(visit, error.message);
    }
  }),
];

async function showSetup(visit: Visit, error?: string) {
  const { form, deps } = visit;
  const { email, organization } = fieldsOf(form);
  const existing = await listOrganizations(deps.db);
  const about = (name: string) => (error?.startsWith(`${name} `) ? error : null);
  const isAbove = error !== undefined && !['email', 'password', 'name'].some((name) => about(name) !== null);
  return view(
    'Set up Tidings',
    <>
      <h1>Set up Tidings</h1>
      <p class="lede">You are the first here. This makes you the owner.</p>
      <form method="post" action="/setup" class="stack">
        <FormError error={isAbove ? error : null} />
        <input type="hidden" name="token" value={tokenOf(visit)} />
        <Field
          label="E-mail address"
          name="email"
          type="email"
          value={email}
          autoComplete="username"
          error={about('email')}
          autoFocus
        />
        <Field
          label="Password"
          name="password"
          type="password"
          autoComplete="new-password"
          hint="At least 10 characters."
          error={about('password')}
        />
        {existing.length === 0 ? (
          <Field
            label="Your team or product"
            name="organization"
            value={organization}
            hint="Posts, keys and integrations belong to it. You can add more later."
            error={about('name')}
          />
        ) : (
          <p class="hint">You will own {existing.map(({ name }) => name).join(', ')}.</p>
        )}
        <button type="submit" class="button go">
          Begin
        </button>
      </form>
    </>,
    error === undefined ? {} : { status: 400 },
  );
}

function fieldsOf(form: URLSearchParams) {
  return {
    email: form.get('email') ?? '',
    password: form.get('password') ?? '',
    organization: form.get('organization') ?? '',
  };
}

import { Type } from '@sinclair/typebox';
import type { AppError } from '../../lib/app-error.ts';
import { addressGroup } from '../../lib/network.ts';
import { acceptInvitation, choosePassword, requireLink, setUp } from '../../people/links.ts';
import { roleNoun } from '../../people/members.ts';
import { findOrganization, listOrganizations } from '../../people/organization-store.ts';
import type { Organization } from '../../people/organizations.ts';
import { failure } from '../../people/permission.ts';
import { get, type Page, redirect, type Visit, view } from '../page.ts';
import { emailField, formState, newPasswordField, postForm } from '../submission.ts';
import { Field, Form, Hidden } from '../view/form.tsx';

const SETUP = '/setup';
const PASSWORD = '/dashboard/~/password';
const INVITATION = '/dashboard/~/invitation';

const SetupForm = Type.Object({
  email: emailField,
  password: newPasswordField('Password'),
  organization: Type.String({
    label: 'Your team or product',
    hint: 'Posts, keys and integrations belong to it. You can add more later.',
    subject: 'The name',
    serviceField: 'name',
  }),
});
const PasswordForm = Type.Object({ password: newPasswordField('New password') });
const InvitationForm = Type.Object({ email: emailField, password: newPasswordField('Password') });

export const routes: readonly Page[] = [
  get(SETUP, 'anyone', async (visit) => {
    await requireLink(visit.deps, tokenOf(visit), 'setup');
    return showSetup(visit);
  }),

  postForm(SETUP, 'anyone', SetupForm, showSetup, async (visit, values) => {
    const { session, organizationId } = await setUp(visit.deps, tokenOf(visit), guarded(visit, values));
    return { ...redirect(`/dashboard/${organizationId}/start`), session };
  }),

  get(PASSWORD, 'anyone', async (visit) => {
    await requireLink(visit.deps, tokenOf(visit), 'password');
    return showPassword(visit);
  }),

  postForm(PASSWORD, 'anyone', PasswordForm, showPassword, async (visit, values) => {
    const token = await choosePassword(visit.deps, tokenOf(visit), guarded(visit, values));
    return { ...redirect('/dashboard', 'Password changed.'), session: token };
  }),

  get(INVITATION, 'anyone', (visit) => showInvitation(visit)),

  postForm(INVITATION, 'anyone', InvitationForm, showInvitation, async (visit, values) => {
    const { organization, current, givesNothing } = await requireInvitation(visit);
    if (givesNothing) return alreadyIn(organization);
    const by = visit.user ?? guarded(visit, values);
    const { organizationId, session } = await acceptInvitation(visit.deps, tokenOf(visit), by);
    const { name } = organization;
    const done = current === null ? `Welcome to ${name}.` : `You are now an owner of ${name}.`;
    return { ...redirect(`/dashboard/${organizationId}`, done), ...(session !== null && { session }) };
  }),
];

const guarded = <Values,>({ guard, request }: Visit, values: Values) => ({
  ...values,
  guard,
  signal: request.signal,
});

/** A one-time token travels in the query or the form. Never in a path, which is logged. */
function tokenOf({ form, url }: Visit): string {
  return form.get('token') ?? url.searchParams.get('token') ?? '';
}

async function showSetup(visit: Visit, error?: AppError) {
  const { fields, problem } = formState(SetupForm, visit.form, error);
  const existing = await visit.deps.db.read(listOrganizations);
  return view(
    'Set up Tidings',
    <>
      <h1>Set up Tidings</h1>
      <p class="lede">Create the first account. You become the owner.</p>
      <Form to={SETUP} problem={problem} button="Create account">
        <Hidden values={[['token', tokenOf(visit)]]} />
        <Field {...fields.email} autoFocus />
        <Field {...fields.password} />
        {existing.length === 0 ? (
          <Field {...fields.organization} />
        ) : (
          <p class="hint">You will own {existing.map(({ name }) => name).join(', ')}.</p>
        )}
      </Form>
    </>,
    { error },
  );
}

function showPassword(visit: Visit, error?: AppError) {
  const { fields, problem } = formState(PasswordForm, visit.form, error);
  return view(
    'Choose a password',
    <>
      <h1>Choose a password</h1>
      <p class="lede">This signs you in here and ends your other sessions.</p>
      <Form to={PASSWORD} problem={problem} button="Save password">
        <Hidden values={[['token', tokenOf(visit)]]} />
        <Field {...fields.password} autoFocus />
      </Form>
    </>,
    { error },
  );
}

/** Guessing slows down only wrong links: a link that works is never refused for others' guesses. */
async function requireInvitation(visit: Visit) {
  const { deps, guard, clientAddress, memberships } = visit;
  try {
    const { role, organizationId } = await requireLink(deps, tokenOf(visit), 'invitation');
    const organization = await deps.db.read((tx) => findOrganization(tx, organizationId ?? ''));
    if (organization === null) throw failure('organization_gone');
    const current = memberships.find((each) => each.organization.id === organization.id)?.role ?? null;
    return { role, organization, current, givesNothing: current === 'owner' || current === role };
  } catch (error) {
    await guard.count(`invitation ${addressGroup(clientAddress)}`);
    throw error;
  }
}

/** Leaves the link for the person that it was meant for. */
function alreadyIn({ id, name }: Organization) {
  return redirect(
    `/dashboard/${id}`,
    `You already belong to ${name}. The link still works for somebody else.`,
  );
}

async function showInvitation(visit: Visit, error?: AppError) {
  const { role, organization, current, givesNothing } = await requireInvitation(visit);
  if (givesNothing) return alreadyIn(organization);
  const { user, form } = visit;
  const { fields, problem } = formState(InvitationForm, form, error);
  const back = `${INVITATION}?token=${encodeURIComponent(tokenOf(visit))}`;
  const title = current === null ? `Join ${organization.name}` : `Become an owner of ${organization.name}`;
  return view(
    title,
    <>
      <h1>{title}</h1>
      <p class="lede">
        {current === null
          ? `You are invited as ${roleNoun(role ?? 'member')}.`
          : 'You are already a member. Owners also manage keys, integrations, members and settings.'}
        {user === null ? '' : ` You are signed in as ${user.email}.`}
      </p>
      <Form
        to={INVITATION}
        problem={problem}
        button={user === null ? 'Create account and join' : current === null ? 'Join' : 'Become an owner'}
      >
        <Hidden values={[['token', tokenOf(visit)]]} />
        {user === null ? (
          <>
            <Field {...fields.email} />
            <Field {...fields.password} />
          </>
        ) : null}
      </Form>
      {user === null ? (
        <p class="hint">
          Already have an account?{' '}
          <a href={`/dashboard/~/sign-in?to=${encodeURIComponent(back)}`}>Sign in first</a>. You return to
          this page afterwards.
        </p>
      ) : null}
    </>,
    { error },
  );
}

/** @jsxRuntime automatic @jsxImportSource preact */
import { Type } from '@sinclair/typebox';
import type { AppError } from '../../lib/app-error.ts';
import { addressGroup } from '../../lib/network.ts';
import type { Organization } from '../../organizations/model.ts';
import { findOrganization, listOrganizations } from '../../organizations/store.ts';
import { acceptInvitation, choosePassword, requireLink, setUp } from '../../users/links.ts';
import { roleNoun } from '../../users/members.ts';
import type { Role } from '../../users/model.ts';
import type { OneTimeLink } from '../../users/store.ts';
import { failure } from '../../users/words.ts';
import { get, type Page, post, redirect, tokenOf, type Visit, view } from '../page.ts';
import { emailField, formState, newPasswordField, submit } from '../submission.ts';
import { Field, Form } from '../view/form.tsx';

// The pages of one-time links: to set up the service, to choose a password, and to join an organization.

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

export const linkPages: readonly Page[] = [
  get(SETUP, 'anyone', async (visit) => {
    await requireLink(visit.deps, tokenOf(visit), 'setup');
    return showSetup(visit);
  }),

  post(SETUP, 'anyone', (visit) =>
    submit(
      visit,
      SetupForm,
      async (values) => {
        const input = { ...values, ...guarded(visit) };
        const { session, organizationId } = await setUp(visit.deps, tokenOf(visit), input);
        return { ...redirect(`/dashboard/${organizationId}/start`), session };
      },
      (error) => showSetup(visit, error),
    ),
  ),

  get(PASSWORD, 'anyone', async (visit) => {
    await requireLink(visit.deps, tokenOf(visit), 'password');
    return showPassword(visit);
  }),

  post(PASSWORD, 'anyone', (visit) =>
    submit(
      visit,
      PasswordForm,
      async (values) => {
        const input = { ...values, ...guarded(visit) };
        const token = await choosePassword(visit.deps, tokenOf(visit), input);
        return { ...redirect('/dashboard', 'Your password is changed.'), session: token };
      },
      (error) => showPassword(visit, error),
    ),
  ),

  get(INVITATION, 'anyone', async (visit) => {
    const invitation = await requireInvitation(visit);
    return invitation.givesNothing ? alreadyIn(invitation) : showInvitation(visit, invitation);
  }),

  post(INVITATION, 'anyone', async (visit) => {
    const invitation = await requireInvitation(visit);
    if (invitation.givesNothing) return alreadyIn(invitation);
    return submit(
      visit,
      InvitationForm,
      async (values) => {
        const by = visit.user ?? { ...values, ...guarded(visit) };
        const { organizationId, session } = await acceptInvitation(visit.deps, tokenOf(visit), by);
        const name = invitation.organization.name.slice(0, 100);
        const done = invitation.current === null ? `Welcome to ${name}.` : `You are an owner of ${name} now.`;
        const to = redirect(`/dashboard/${organizationId}`, done);
        return session === null ? to : { ...to, session };
      },
      (error) => showInvitation(visit, invitation, error),
    );
  }),
];

function guarded({ guard, request }: Visit) {
  return { guard, signal: request.signal };
}

/** Keeps the token in the form, and never in the path of the form, which is logged. */
function Token({ visit }: { visit: Visit }) {
  return <input type="hidden" name="token" value={tokenOf(visit)} />;
}

async function showSetup(visit: Visit, error?: AppError) {
  const { fields, problem } = formState(SetupForm, visit.form, error);
  const existing = await listOrganizations(visit.deps.db);
  return view(
    'Set up Tidings',
    <>
      <h1>Set up Tidings</h1>
      <p class="lede">You are the first here. This makes you the owner.</p>
      <Form to={SETUP} problem={problem} button="Create account">
        <Token visit={visit} />
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
      <p class="lede">This signs you in here, and out everywhere else.</p>
      <Form to={PASSWORD} problem={problem} button="Save password">
        <Token visit={visit} />
        <Field {...fields.password} autoFocus />
      </Form>
    </>,
    { error },
  );
}

interface Invitation {
  link: OneTimeLink;
  organization: Organization;
  /** The role that the visitor has already. */
  current: Role | null;
  /** The visitor has the role of the invitation, or a higher one. */
  givesNothing: boolean;
}

/** Guessing slows down only wrong links: a link that works is never refused for others' guesses. */
async function requireInvitation(visit: Visit): Promise<Invitation> {
  const { deps, guard, clientAddress, memberships } = visit;
  try {
    const link = await requireLink(deps, tokenOf(visit), 'invitation');
    const organization = await findOrganization(deps.db, link.organizationId ?? '');
    if (organization === null) throw failure('organization_gone');
    const current = memberships.find((each) => each.organization.id === organization.id)?.role ?? null;
    return { link, organization, current, givesNothing: current === 'owner' || current === link.role };
  } catch (error) {
    guard.count(`invitation ${addressGroup(clientAddress)}`);
    throw error;
  }
}

/** Leaves the link for the person that it was meant for. */
function alreadyIn({ organization: { id, name } }: Invitation) {
  return redirect(
    `/dashboard/${id}`,
    `You are in ${name.slice(0, 100)} already. The link still works for somebody else.`,
  );
}

function showInvitation(visit: Visit, { link, organization, current }: Invitation, error?: AppError) {
  const { user, form } = visit;
  const { fields, problem } = formState(InvitationForm, form, error);
  const isTaken = error?.code === 'address_taken';
  const back = `${INVITATION}?token=${encodeURIComponent(tokenOf(visit))}`;
  const title = current === null ? `Join ${organization.name}` : `Become an owner of ${organization.name}`;
  return view(
    title,
    <>
      <h1>{title}</h1>
      <p class="lede">
        {current === null
          ? `You are invited as ${roleNoun(link.role ?? 'member')}.`
          : 'You are a member already. As an owner you also manage keys, integrations, members and settings.'}
        {user === null ? '' : ` You are signed in as ${user.email}.`}
      </p>
      <Form
        to={INVITATION}
        problem={isTaken ? null : problem}
        button={user === null ? 'Create account and join' : current === null ? 'Join' : 'Become an owner'}
      >
        <Token visit={visit} />
        {user === null ? (
          <>
            <Field {...fields.email} {...(isTaken && { error: problem })} />
            <Field {...fields.password} />
          </>
        ) : null}
      </Form>
      {user === null ? (
        <p class="hint">
          Have an account? <a href={`/dashboard/~/sign-in?to=${encodeURIComponent(back)}`}>Sign in first</a>,
          and you come back here.
        </p>
      ) : null}
    </>,
    { error },
  );
}

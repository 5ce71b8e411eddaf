/** @jsxRuntime automatic @jsxImportSource preact */
import { AppError } from '../../lib/app-error.ts';
import { addressGroup } from '../../lib/client-address.ts';
import type { Organization } from '../../organizations/model.ts';
import { findOrganization } from '../../organizations/store.ts';
import type { OneTimeLink, Role } from '../../users/model.ts';
import { acceptInvitation, requireLink } from '../../users/service.ts';
import { listMemberships } from '../../users/store.ts';
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

const PATH = '/dashboard/~/invitation';

/** How somebody joins an organization: as who is signed in, or as somebody new. */
export const invitation: readonly Page[] = [
  get(PATH, 'anyone', async (visit) => {
    const { link, organization } = await requireInvitation(visit);
    const role = await findRole(visit, organization.id);
    return givesNothing(link, role)
      ? alreadyIn(organization)
      : showInvitation(visit, link, organization, role);
  }),

  post(PATH, 'anyone', async (visit) => {
    const { deps, form, user } = visit;
    const { link, organization } = await requireInvitation(visit);
    const role = await findRole(visit, organization.id);
    if (givesNothing(link, role)) return alreadyIn(organization);
    try {
      const by = user ?? { ...given(form), ...guardedBy(visit) };
      const { organizationId, session } = await acceptInvitation(deps, tokenOf(visit), by);
      const name = organization.name.slice(0, 100);
      const done = role === null ? `Welcome to ${name}.` : `You are an owner of ${name} now.`;
      const to = redirect(`/dashboard/${organizationId}`, done);
      return session === null ? to : { ...to, session: session.token };
    } catch (error) {
      if (!isRefusedForm(error)) throw error;
      return showInvitation(visit, link, organization, role, error);
    }
  }),
];

type Invitation = OneTimeLink & { hash: string };

/** A link that works is never held up by others' wrong ones; those are refused at once after a few. */
async function requireInvitation(visit: Visit): Promise<{ link: Invitation; organization: Organization }> {
  const { deps, guard, clientAddress } = visit;
  try {
    const link = await requireLink(deps, tokenOf(visit), 'invitation');
    const organization = await findOrganization(deps.db, link.organizationId ?? '');
    if (organization === null) throw new AppError(404, 'This organization is gone.');
    return { link, organization };
  } catch (error) {
    guard.count(`invitation ${addressGroup(clientAddress)}`);
    throw error;
  }
}

/** What who is signed in may do there already; null for nothing. */
async function findRole({ deps, user }: Visit, organizationId: string): Promise<Role | null> {
  if (user === null) return null;
  const memberships = await listMemberships(deps.db, user.id);
  return memberships.find((each) => each.organizationId === organizationId)?.role ?? null;
}

/** Whether somebody with this role has all that the invitation gives. */
function givesNothing(link: Invitation, role: Role | null): boolean {
  return role === 'owner' || role === link.role;
}

/** The link is not used up: it was meant for somebody else. */
function alreadyIn({ id, name }: Organization) {
  return redirect(
    `/dashboard/${id}`,
    `You are in ${name.slice(0, 100)} already. The link still works for another.`,
  );
}

function showInvitation(
  visit: Visit,
  { role }: Invitation,
  { name }: Organization,
  present: Role | null,
  error?: AppError,
) {
  const { user } = visit;
  const token = tokenOf(visit);
  const title = present === null ? `Join ${name}` : `Become an owner of ${name}`;
  return view(
    title,
    <>
      <h1>{title}</h1>
      <p class="lede">
        {present === null
          ? `You are invited as ${role === 'owner' ? 'an owner' : 'a member'}.`
          : 'You are a member already, and invited as an owner: to manage keys, integrations, members and settings too.'}
        {user === null ? '' : ` You are signed in as ${user.email}.`}
      </p>
      <form method="post" action={PATH} class="stack">
        <input type="hidden" name="token" value={token} />
        {user === null ? <NewPerson visit={visit} error={error} /> : <FormError error={error?.message} />}
        <button type="submit" class="button go">
          {user === null ? 'Make an account and join' : present === null ? 'Join' : 'Become an owner'}
        </button>
      </form>
      {user === null ? (
        <p class="hint">
          Have an account? <a href={signInLink(token)}>Sign in first</a>, and you come back here.
        </p>
      ) : null}
    </>,
    refusalOf(error),
  );
}

function NewPerson({ visit: { form }, error }: { visit: Visit; error: AppError | undefined }) {
  const aboutEmail =
    error?.status === 409 ? error.message : problemWith('email', 'The address', error?.message);
  const aboutPassword = problemWith('password', 'The password', error?.message);
  return (
    <>
      <FormError error={aboutEmail === null && aboutPassword === null ? error?.message : null} />
      <Field
        label="E-mail address"
        name="email"
        type="email"
        value={form.get('email') ?? ''}
        autoComplete="username"
        error={aboutEmail}
      />
      <NewPassword message={error?.message} />
    </>
  );
}

function signInLink(token: string): string {
  return `/dashboard/~/sign-in?to=${encodeURIComponent(`${PATH}?token=${encodeURIComponent(token)}`)}`;
}

function given(form: URLSearchParams) {
  return { email: form.get('email') ?? '', password: form.get('password') ?? '' };
}

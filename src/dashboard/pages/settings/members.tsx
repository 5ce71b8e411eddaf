/** @jsxRuntime automatic @jsxImportSource preact */
import { AppError } from '../../../lib/app-error.ts';
import { type Member, Role } from '../../../users/model.ts';
import { invite } from '../../../users/service.ts';
import {
  countInvitations,
  deleteInvitations,
  deleteMembership,
  listMembers,
  setRole,
} from '../../../users/store.ts';
import { once } from '../../once.ts';
import { get, type MemberVisit, type Page, post, redirect, type View, view } from '../../page.ts';
import { InvitedPage } from './invited-page.tsx';
import { MembersPage } from './members-page.tsx';

const PATH = '/dashboard/:organizationId/settings/members';

export const members: readonly Page[] = [
  get(PATH, 'member', (visit) => showMembers(visit)),

  // Like a new key's value, the link is shown by the answer itself: its token must not lie in an address or a cookie.
  post(`${PATH}/invitations`, 'owner', async (visit) => {
    const { deps, organization, form, base } = visit;
    const role = roleIn(form);
    if (role === undefined) return showMembers(visit, 'Choose what the person may do.');
    const path = await once(deps.db, form.get('mark'), () => invite(deps, organization.id, role));
    if (path === null) {
      return redirect(`${base}/settings/members`, 'The link was shown before. Make another if you need one.');
    }
    const link = `${deps.publicUrl()}${path}`;
    return view('Members', <InvitedPage link={link} role={role} visit={visit} />, { section: 'settings' });
  }),

  post(`${PATH}/invitations/withdraw`, 'owner', async ({ deps, organization, base }) => {
    await deleteInvitations(deps, organization.id);
    return redirect(`${base}/settings/members`, 'No invitation link works any more.');
  }),

  post(`${PATH}/:userId/remove`, 'owner', async (visit) => {
    const { deps, organization, user, base } = visit;
    const person = await requireMember(visit);
    if (!(await deleteMembership(deps, person.id, organization.id))) return lastOwner(visit, person);
    return person.id === user.id
      ? redirect('/dashboard', `You have left ${organization.name.slice(0, 100)}.`)
      : redirect(`${base}/settings/members`, `${person.email.slice(0, 200)} is no member any more.`);
  }),

  post(`${PATH}/:userId/role`, 'owner', async (visit) => {
    const { deps, organization, user, form, base } = visit;
    const person = await requireMember(visit);
    const role = roleIn(form);
    if (role === undefined) return showMembers(visit, 'Choose what the person may do.');
    if (!(await setRole(deps, person.id, organization.id, role))) return lastOwner(visit, person);
    const who = person.id === user.id ? 'You are' : `${person.email.slice(0, 200)} is`;
    return redirect(
      `${base}/settings/members`,
      `${who} ${role === 'owner' ? 'an owner' : 'a member, and no owner any more'}.`,
    );
  }),
];

function roleIn(form: URLSearchParams): Role | undefined {
  return Role.anyOf.map((choice) => choice.const).find((each) => each === form.get('role'));
}

/** The person of the path. Throws `AppError` 404, also for somebody of another organization. */
async function requireMember({ deps, organization, params }: MemberVisit): Promise<Member> {
  const people = await listMembers(deps.db, organization.id);
  const person = people.find(({ id }) => id === params.userId);
  if (person === undefined) throw new AppError(404, 'There is no such member. They may have left.');
  return person;
}

function lastOwner(visit: MemberVisit, { email }: Member): Promise<View> {
  return showMembers(visit, `${email} is the last owner, and stays: make another owner first.`);
}

async function showMembers(visit: MemberVisit, error?: string): Promise<View> {
  const { deps, organization } = visit;
  const people = await listMembers(deps.db, organization.id);
  const invitations = await countInvitations(deps.db, organization.id, deps.clock.now());
  return view(
    'Members',
    <MembersPage visit={visit} people={people} invitations={invitations} error={error} />,
    {
      section: 'settings',
      ...(error === undefined ? {} : { status: 400 }),
    },
  );
}

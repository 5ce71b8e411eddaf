import { Type } from '@sinclair/typebox';
import type { AppError } from '../../../lib/app-error.ts';
import { createMemberPasswordLink, invite } from '../../../people/links.ts';
import {
  readMembers,
  removeMember,
  roleNoun,
  setRole,
  withdrawInvitations,
} from '../../../people/members.ts';
import { failure, type Member, Role } from '../../../people/permission.ts';
import { get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { type FieldState, formState, once, postForm } from '../../submission.ts';
import { actionsColumn, counted, LinkButton, Status, Table, ToCopy } from '../../view/elements.tsx';
import { Action, Choice, Danger, Form, FormError, type Problem } from '../../view/form.tsx';
import { useVisit } from '../../view/time.tsx';

const PATH = '/dashboard/:organizationId/settings/members';

const RoleForm = Type.Object({
  role: Type.Union(Role.anyOf, { label: 'Role', problem: 'Choose what the person can do.' }),
});

const permissions: Readonly<Record<Role, string>> = {
  member: 'Writes and publishes posts',
  owner: 'Also manages keys, integrations, members and settings',
};

const SHOWN_BEFORE = 'Tidings already showed this link. Create another one if you need it.';

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => showMembers(visit)),

  // The response shows the link: its token must not be in a URL of ours or a cookie.
  postForm(`${PATH}/invitations`, 'owner', RoleForm, showMembers, async (visit, { role }) => {
    const { deps, organization, form, base } = visit;
    const path = await once(deps, form.get('mark'), () => invite(deps, organization.id, role));
    if (path === null) return redirect(`${base}/settings/members`, SHOWN_BEFORE);
    const text = `Send this link to one person. It makes them ${roleNoun(role)} of ${organization.name}. It works once, within 7 days, and is shown only now.`;
    return showLink(visit, 'Invitation link', path, text);
  }),

  post(`${PATH}/invitations/withdraw`, 'owner', async ({ deps, organization, base }) => {
    await withdrawInvitations(deps, organization.id);
    return redirect(`${base}/settings/members`, 'Invitation links withdrawn. They no longer work.');
  }),

  // The response shows the link, as for an invitation.
  postForm(`${PATH}/:userId/password-link`, 'owner', Type.Object({}), showMembers, async (visit) => {
    const { deps, organization, params, form, base } = visit;
    const created = await once(deps, form.get('mark'), () =>
      createMemberPasswordLink(deps, organization.id, params.userId ?? ''),
    );
    if (created === null) return redirect(`${base}/settings/members`, SHOWN_BEFORE);
    const { email, path } = created;
    const text = `Send this link to ${email}, and to nobody else. Anyone who opens it can choose a new password and sign in as ${email}. It works once, within 24 hours, and is shown only now. Earlier reset links no longer work.`;
    return showLink(visit, 'Reset link', path, text);
  }),

  postForm(`${PATH}/:userId/remove`, 'owner', Type.Object({}), showMembers, async (visit) => {
    const { deps, organization, user, base } = visit;
    const { id, email } = await requireMember(visit);
    await removeMember(deps, id, organization.id);
    return id === user.id
      ? redirect('/dashboard', `You have left ${organization.name}.`)
      : redirect(`${base}/settings/members`, `${email} is no longer a member.`);
  }),

  postForm(`${PATH}/:userId/role`, 'owner', RoleForm, showMembers, async (visit, { role }) => {
    const { deps, organization, user, base } = visit;
    const { id, email } = await requireMember(visit);
    await setRole(deps, id, organization.id, role);
    const subject = id === user.id ? 'You are' : `${email} is`;
    return redirect(`${base}/settings/members`, `${subject} ${roleNoun(role)} now.`);
  }),
];

/** The person in the path. Throws `AppError` 404, also for somebody of another organization. */
async function requireMember({ deps, organization, params }: MemberVisit): Promise<Member> {
  const { people } = await readMembers(deps, organization.id);
  const person = people.find(({ id }) => id === params.userId);
  if (person === undefined) throw failure('member_not_found');
  return person;
}

function showLink({ base, deps }: MemberVisit, title: string, path: string, text: string) {
  const crumbs = [
    { to: 'settings', label: 'Settings' },
    { to: 'settings/members', label: 'Members' },
  ];
  return view(
    { title, crumbs, facts: text },
    <>
      <div class="note">
        <ToCopy text={deps.publicUrl() + path} label="Copy link" />
      </div>
      <p>
        <LinkButton to={`${base}/settings/members`} label="Back to members" />
      </p>
    </>,
    { section: 'settings' },
  );
}

async function showMembers(visit: MemberVisit, error?: AppError) {
  const { deps, organization, role, user } = visit;
  const { people, invitations } = await readMembers(deps, organization.id);
  const { fields, problem } = formState(RoleForm, {}, error);
  const isOfInvitation = fields.role.error !== null;
  return view(
    { title: 'Members', tab: 'settings/members' },
    <>
      <p class="lede">
        {counted(people.length, 'member')} of <bdi>{organization.name}</bdi>.
        {role === 'owner' ? '' : ' Owners invite others.'}
      </p>
      <FormError error={isOfInvitation ? null : error?.message} />
      <Table
        caption="Members"
        rows={people}
        columns={[
          {
            title: 'Person',
            cell: ({ id, email, disabledAt }) => (
              <>
                <strong>{email}</strong>
                {id === user.id ? <span class="dim"> (you)</span> : null}{' '}
                {disabledAt === null ? null : <Status status="disabled" />}
              </>
            ),
          },
          {
            title: 'Role',
            cell: (person) => (
              <>
                {person.role === 'owner' ? 'Owner' : 'Member'}
                <div class="hint">{permissions[person.role]}</div>
              </>
            ),
          },
          role === 'owner'
            ? { ...actionsColumn, cell: (person) => <Actions person={person} people={people} /> }
            : null,
        ]}
      />
      {role === 'owner' ? (
        <Invitations count={invitations} field={fields.role} problem={isOfInvitation ? problem : null} />
      ) : null}
    </>,
    { section: 'settings', error },
  );
}

function Invitations(props: { count: number; field: FieldState; problem: Problem | null }) {
  const { count, field, problem } = props;
  const { base } = useVisit();
  return (
    <>
      <h2>Invite a person</h2>
      <p>Tidings sends no email: you get a link and send it to the person. It works once, within 7 days.</p>
      <Form
        to={`${base}/settings/members/invitations`}
        problem={problem}
        button="Create invitation link"
        isOnce
      >
        <Choice
          {...field}
          value="member"
          options={[
            { value: 'member', label: 'Member', hint: permissions.member },
            { value: 'owner', label: 'Owner', hint: permissions.owner },
          ]}
        />
      </Form>
      {count === 0 ? null : (
        <div class="after">
          <p>{counted(count, 'invitation link is', 'invitation links are')} not used yet.</p>
          <Action
            to={`${base}/settings/members/invitations/withdraw`}
            label={count === 1 ? 'Withdraw invitation' : 'Withdraw invitations'}
          />
        </div>
      )}
    </>
  );
}

function Actions({ person, people }: { person: Member; people: Member[] }) {
  const { base, user, organization } = useVisit();
  const { id, email, role } = person;
  const hasOtherOwner = people.some(
    (each) => each.id !== id && each.role === 'owner' && each.disabledAt === null,
  );
  const isLast = role === 'owner' && !hasOtherOwner;
  const path = `${base}/settings/members/${encodeURIComponent(id)}`;
  const next = role === 'owner' ? 'member' : 'owner';
  const isSelf = id === user.id;
  const who = isSelf ? 'You' : <bdi>{email}</bdi>;
  const about = isSelf ? null : email;
  const label = `${isSelf ? 'Become' : 'Make'} ${roleNoun(next)}`;
  const links = 'Invitation links that were not used yet stop working.';
  const isResettable = !isSelf && person.disabledAt === null;
  return (
    <>
      {isResettable ? (
        <Danger
          label="Reset password"
          about={about}
          isMild
          isOnce
          to={`${path}/password-link`}
          button="Create reset link"
        >
          You get a link and send it to {who}. It works once, within 24 hours. The current password works
          until then.
        </Danger>
      ) : null}
      {isLast ? (
        <span class="dim">You can't remove the last owner.</span>
      ) : (
        <>
          <Danger
            label={label}
            about={about}
            isMild
            to={`${path}/role`}
            button={label}
            fields={{ role: next }}
          >
            {who}{' '}
            {next === 'owner'
              ? 'can then do everything that you can: manage keys, integrations and settings, and invite and remove people, including you.'
              : `can still write and publish posts, but no longer manage keys, integrations, members and settings. ${isSelf ? 'Only another owner can make you one again. ' : ''}${links}`}
          </Danger>
          <Danger
            label={isSelf ? 'Leave' : 'Remove'}
            about={about}
            to={`${path}/remove`}
            button={isSelf ? 'Leave this organization' : 'Remove from the organization'}
          >
            {who} can no longer open <bdi>{organization.name}</bdi>. {isSelf ? 'Your' : 'Their'} posts stay.{' '}
            {links} API keys keep working: revoke those that {isSelf ? 'you know' : 'the person knows'}.
          </Danger>
        </>
      )}
    </>
  );
}

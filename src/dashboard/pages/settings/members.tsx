import { Type } from '@sinclair/typebox';
import type { AppError } from '../../../lib/app-error.ts';
import { passwordsWork } from '../../../people/deps.ts';
import { createMemberPasswordLink, invite } from '../../../people/links.ts';
import {
  readMembers,
  removeMember,
  roleNames,
  roleNoun,
  setRole,
  withdrawInvitations,
} from '../../../people/members.ts';
import { failure, type Member, Role } from '../../../people/permission.ts';
import { formState, NoFields } from '../../fields.ts';
import { get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { postForm } from '../../submission.ts';
import { counted, LinkButton, Status, ToCopy, useVisit } from '../../view/elements.tsx';
import { Action, Choice, Danger, FormError, FormOf } from '../../view/form.tsx';
import { actionsColumn, Table } from '../../view/list.tsx';

const PATH = '/dashboard/:organizationId/settings/members';
const MEMBERS = 'settings/members';

const RoleForm = Type.Object({
  role: Type.Union(Role.anyOf, { label: 'Role', problem: 'Choose what the person can do.' }),
});

const permissions: Readonly<Record<Role, string>> = {
  writer: 'Writes drafts',
  member: 'Also approves and publishes posts',
  owner: 'Also manages keys, integrations, members and settings',
};

const roles = Object.keys(permissions) as Role[];

const shownBefore = () =>
  redirect(MEMBERS, 'Tidings already showed this link. Create another one if you need it.');

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => showMembers(visit)),

  // The response shows the link: its token must not be in a URL of ours or a cookie.
  postForm(
    `${PATH}/invitations`,
    'owner',
    RoleForm,
    showMembers,
    async ({ deps, organization: { id, name } }, { role }) =>
      showLink(
        'Invitation link',
        deps.publicUrl() + (await invite(deps, id, role)),
        `Send this link to one person. It makes them ${roleNoun(role)} of ${name}. It works once, within 7 days, and is shown only now.`,
      ),
    shownBefore,
  ),

  post(`${PATH}/invitations/withdraw`, 'owner', async ({ deps, organization }) => {
    await withdrawInvitations(deps, organization.id);
    return redirect(MEMBERS, 'Invitation links withdrawn. They no longer work.');
  }),

  postForm(
    `${PATH}/:userId/password-link`,
    'owner',
    NoFields,
    showMembers,
    async ({ deps, organization, params }) => {
      if (!passwordsWork(deps)) throw failure('passwords_off');
      const { email, path } = await createMemberPasswordLink(deps, organization.id, params.userId ?? '');
      return showLink(
        'Reset link',
        deps.publicUrl() + path,
        `Send this link to ${email}, and to nobody else. Anyone who opens it can choose a new password and sign in as ${email}. It works once, within 24 hours, and is shown only now. Earlier reset links no longer work.`,
      );
    },
    shownBefore,
  ),

  postForm(`${PATH}/:userId/remove`, 'owner', NoFields, showMembers, async (visit) => {
    const { deps, organization, user } = visit;
    const { id, email } = await requireMember(visit);
    await removeMember(deps, id, organization.id);
    return id === user.id
      ? redirect('/dashboard', `You have left ${organization.name}.`)
      : redirect(MEMBERS, `${email} is no longer a member.`);
  }),

  postForm(`${PATH}/:userId/role`, 'owner', RoleForm, showMembers, async (visit, { role }) => {
    const { deps, organization, user } = visit;
    const { id, email } = await requireMember(visit);
    await setRole(deps, id, organization.id, role);
    return redirect(MEMBERS, `${id === user.id ? 'You are' : `${email} is`} ${roleNoun(role)} now.`);
  }),
];

/** The person in the path. Throws `AppError` 404, also for somebody of another organization. */
async function requireMember({ deps, organization, params }: MemberVisit): Promise<Member> {
  const { people } = await readMembers(deps, organization.id);
  const person = people.find(({ id }) => id === params.userId);
  if (person === undefined) throw failure('member_not_found');
  return person;
}

function showLink(title: string, link: string, facts: string) {
  const crumbs = [
    { to: 'settings', label: 'Settings' },
    { to: MEMBERS, label: 'Members' },
  ];
  return view(
    { title, crumbs, facts },
    <div class="note">
      <ToCopy text={link} label="Copy link" />
    </div>,
    <p>
      <LinkButton to={MEMBERS} label="Back to members" />
    </p>,
  );
}

async function showMembers(visit: MemberVisit, error?: AppError) {
  const { deps, organization, isOwner, user } = visit;
  const { people, invitations } = await readMembers(deps, organization.id);
  const isOfInvitation = formState(RoleForm, {}, error).fields.role.error !== null;
  return view(
    { title: 'Members', tab: MEMBERS, error },
    <p class="lede">
      {counted(people.length, 'member')} of <bdi>{organization.name}</bdi>.
      {isOwner ? '' : ' Owners invite others.'}
    </p>,
    <FormError error={isOfInvitation ? null : error?.message} />,
    <Table
      caption="Members"
      rows={people}
      columns={[
        {
          title: 'Person',
          cell: ({ id, email, disabledAt }) => (
            <>
              <strong>{email}</strong>
              {id === user.id && <span class="dim"> (you)</span>}{' '}
              {disabledAt !== null && <Status status="disabled" />}
            </>
          ),
        },
        {
          title: 'Role',
          cell: (person) => (
            <>
              {roleNames[person.role]}
              <div class="hint">{permissions[person.role]}</div>
              {person.byRule && <div class="hint">By a rule of the identity provider</div>}
            </>
          ),
        },
        isOwner && { ...actionsColumn, cell: (person) => <Actions person={person} people={people} /> },
      ]}
    />,
    isOwner && <Invitations count={invitations} error={isOfInvitation ? error : undefined} />,
  );
}

function Invitations({ count, error }: { count: number; error: AppError | undefined }) {
  return (
    <>
      <h2>Invite a person</h2>
      <p>Tidings sends no email: you get a link and send it to the person. It works once, within 7 days.</p>
      <FormOf
        schema={RoleForm}
        {...{ error, to: `${MEMBERS}/invitations`, button: 'Create invitation link', isOnce: true }}
        controls={{
          role: (field) => (
            <Choice
              {...field}
              value="member"
              options={roles.map((value) => ({ value, label: roleNames[value], hint: permissions[value] }))}
            />
          ),
        }}
      />
      {count > 0 && (
        <div class="after">
          <p>{counted(count, 'invitation link is', 'invitation links are')} not used yet.</p>
          <Action
            to={`${MEMBERS}/invitations/withdraw`}
            label={count === 1 ? 'Withdraw invitation' : 'Withdraw invitations'}
          />
        </div>
      )}
    </>
  );
}

const becomes: Readonly<Record<Role, string>> = {
  writer: 'can then write drafts, and neither publish nor change what is public.',
  member:
    'can then write, approve and publish posts, but not manage keys, integrations, members and settings.',
  owner:
    'can then do everything that you can: manage keys, integrations and settings, and invite and remove people, including you.',
};

function Actions({ person, people }: { person: Member; people: Member[] }) {
  const { user, organization, deps } = useVisit();
  const { id, email, role } = person;
  const hasOtherOwner = people.some(
    (each) => each.id !== id && each.role === 'owner' && each.disabledAt === null,
  );
  const isLast = role === 'owner' && !hasOtherOwner;
  const path = `${MEMBERS}/${encodeURIComponent(id)}`;
  const isSelf = id === user.id;
  const who = isSelf ? 'You' : <bdi>{email}</bdi>;
  const about = isSelf ? null : email;
  const links = 'Invitation links that were not used yet stop working.';
  return (
    <>
      {!isSelf && person.disabledAt === null && passwordsWork(deps) && (
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
      )}
      {isLast ? (
        <span class="dim">You can't remove the last owner.</span>
      ) : (
        <>
          {roles
            .filter((next) => next !== role)
            .map((next) => {
              const label = `${isSelf ? 'Become' : 'Make'} ${roleNoun(next)}`;
              return (
                <Danger
                  {...{ label, about }}
                  isMild
                  to={`${path}/role`}
                  button={label}
                  fields={{ role: next }}
                >
                  {who} {becomes[next]}
                  {role === 'owner' &&
                    `${isSelf ? ' Only another owner can make you one again.' : ''} ${links}`}
                </Danger>
              );
            })}
          <Danger
            label={isSelf ? 'Leave' : 'Remove'}
            about={about}
            to={`${path}/remove`}
            button={isSelf ? 'Leave this organization' : 'Remove from the organization'}
          >
            {who} can no longer open <bdi>{organization.name}</bdi>. {isSelf ? 'Your' : 'Their'} posts stay.{' '}
            {links} API keys keep working: revoke those that {isSelf ? 'you know' : 'the person knows'}.
            {person.byRule && ' At the next sign-in, the rule of the identity provider adds them again.'}
          </Danger>
        </>
      )}
    </>
  );
}

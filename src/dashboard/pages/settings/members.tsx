/** @jsxRuntime automatic @jsxImportSource preact */
import { Type } from '@sinclair/typebox';
import { AppError } from '../../../lib/app-error.ts';
import { invite } from '../../../users/links.ts';
import { readMembers, removeMember, roleNoun, setRole, withdrawInvitations } from '../../../users/members.ts';
import { type Member, Role } from '../../../users/model.ts';
import { failure } from '../../../users/words.ts';
import { type Answer, get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { formState, once, readFields } from '../../submission.ts';
import { SettingsHead } from '../../view/document.tsx';
import { counted, Status, Table, ToCopy } from '../../view/elements.tsx';
import { Action, Choice, Form, FormError } from '../../view/form.tsx';

const PATH = '/dashboard/:organizationId/settings/members';

const RoleForm = Type.Object({
  role: Type.Union(Role.anyOf, { label: 'Role', problem: 'Choose what the person may do.' }),
});

const permissions: Readonly<Record<Role, string>> = {
  member: 'Writes and publishes posts',
  owner: 'Also manages keys, integrations, members and settings',
};

export const memberPages: readonly Page[] = [
  get(PATH, 'member', (visit) => showMembers(visit)),

  // The response shows the link: its token must not be in a URL of ours or a cookie.
  post(`${PATH}/invitations`, 'owner', (visit) =>
    change(visit, async () => {
      const { deps, organization, form, base } = visit;
      const { role } = readFields(RoleForm, form);
      const path = await once(deps.db, form.get('mark'), () => invite(deps, organization.id, role));
      return path === null
        ? redirect(
            `${base}/settings/members`,
            'The link was shown before. Create another one if you need it.',
          )
        : showInvitation(visit, role, `${deps.publicUrl()}${path}`);
    }),
  ),

  post(`${PATH}/invitations/withdraw`, 'owner', async ({ deps, organization, base }) => {
    await withdrawInvitations(deps, organization.id);
    return redirect(`${base}/settings/members`, 'No invitation link works any more.');
  }),

  post(`${PATH}/:userId/remove`, 'owner', (visit) =>
    change(visit, async () => {
      const { deps, organization, user, base } = visit;
      const { id, email } = await requireMember(visit);
      await removeMember(deps, id, organization.id);
      return id === user.id
        ? redirect('/dashboard', `You have left ${organization.name.slice(0, 100)}.`)
        : redirect(`${base}/settings/members`, `${email.slice(0, 200)} is no longer a member.`);
    }),
  ),

  post(`${PATH}/:userId/role`, 'owner', (visit) =>
    change(visit, async () => {
      const { deps, organization, user, form, base } = visit;
      const { id, email } = await requireMember(visit);
      const { role } = readFields(RoleForm, form);
      await setRole(deps, id, organization.id, role);
      const subject = id === user.id ? 'You are' : `${email.slice(0, 200)} is`;
      return redirect(`${base}/settings/members`, `${subject} ${roleNoun(role)} now.`);
    }),
  ),
];

/** Shows the page again when a form is invalid, or would leave no owner. */
async function change(visit: MemberVisit, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || ![400, 409].includes(error.status)) throw error;
    return showMembers(visit, error);
  }
}

/** The person in the path. Throws `AppError` 404, also for somebody of another organization. */
async function requireMember({ deps, organization, params }: MemberVisit): Promise<Member> {
  const { people } = await readMembers(deps, organization.id);
  const person = people.find(({ id }) => id === params.userId);
  if (person === undefined) throw failure('member_not_found');
  return person;
}

function showInvitation(visit: MemberVisit, role: Role, link: string) {
  return view(
    'Members',
    <>
      <SettingsHead title="Invitation link" visit={visit} current="settings/members" />
      <p class="lede">
        Send this link to one person. It makes them {roleNoun(role)} of {visit.organization.name}. It works
        once, within 7 days, and is shown only now.
      </p>
      <div class="note">
        <ToCopy text={link} label="Copy link" />
      </div>
      <p>
        <a class="button" href={`${visit.base}/settings/members`}>
          Back to the members
        </a>
      </p>
    </>,
    { section: 'settings' },
  );
}

async function showMembers(visit: MemberVisit, error?: AppError) {
  const { deps, organization, role, user } = visit;
  const { people, invitations } = await readMembers(deps, organization.id);
  const { fields, problem } = formState(RoleForm, {}, error);
  const isLastOwner = error?.code === 'last_owner';
  return view(
    'Members',
    <>
      <SettingsHead title="Members" visit={visit} current="settings/members" />
      <p class="lede">
        {people.length === 1 ? 'One person works' : `${people.length} people work`} on {organization.name}.
        {role === 'owner' ? '' : ' Owners invite others.'}
      </p>
      <FormError
        error={
          isLastOwner
            ? `${error.details.email} is the last owner. Make another owner first.`
            : (problem ?? fields.role.error)
        }
      />
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
          role !== 'owner'
            ? null
            : {
                title: 'Actions',
                isTitleHidden: true,
                class: 'end',
                cell: (person) => <Actions visit={visit} person={person} people={people} />,
              },
        ]}
      />
      {role === 'owner' ? <Invitations base={visit.base} count={invitations} /> : null}
    </>,
    { section: 'settings', error, ...(isLastOwner && { status: 400 }) },
  );
}

function Invitations({ base, count }: { base: string; count: number }) {
  return (
    <>
      <h2>Invite a person</h2>
      <p>Tidings sends no email. You get a link and send it to the person. It works once, within 7 days.</p>
      <Form to={`${base}/settings/members/invitations`} problem={null} button="Create invitation link" isOnce>
        <Choice
          label="Role"
          name="role"
          value="member"
          options={[
            { value: 'member', label: 'Member', hint: permissions.member },
            { value: 'owner', label: 'Owner', hint: permissions.owner },
          ]}
        />
      </Form>
      {count === 0 ? null : (
        <div class="after">
          <p>{counted(count, 'link is', 'links are')} out and not used yet.</p>
          <Action
            to={`${base}/settings/members/invitations/withdraw`}
            label={count === 1 ? 'Withdraw it' : 'Withdraw them all'}
          />
        </div>
      )}
    </>
  );
}

function Actions({ visit, person, people }: { visit: MemberVisit; person: Member; people: Member[] }) {
  const { base, user, organization } = visit;
  const { id, email, role } = person;
  const isSelf = id === user.id;
  const hasOtherOwner = people.some(
    (each) => each.id !== id && each.role === 'owner' && each.disabledAt === null,
  );
  if (role === 'owner' && !hasOtherOwner) return <span class="dim">The last owner can't be removed</span>;
  const path = `${base}/settings/members/${encodeURIComponent(id)}`;
  const next = role === 'owner' ? 'member' : 'owner';
  const label = `${isSelf ? 'Become' : 'Make'} ${roleNoun(next)}`;
  const links = 'Invitation links that were not used yet stop working.';
  return (
    <>
      <details class="danger mild">
        <summary>
          {label}
          {isSelf ? null : <span class="hidden">: {email}</span>}
        </summary>
        <p>
          {next === 'owner'
            ? `${email} can then do everything that you can: manage keys, integrations and settings, and invite and remove people, including you.`
            : `${isSelf ? 'You keep' : `${email} keeps`} writing and publishing posts, and no longer ${isSelf ? 'manage' : 'manages'} keys, integrations, members and settings. ${isSelf ? 'Only another owner can make you one again. ' : ''}${links}`}
        </p>
        <Action to={`${path}/role`} label={label} fields={{ role: next }} />
      </details>
      <details class="danger">
        <summary>
          {isSelf ? 'Leave' : 'Remove'}
          {isSelf ? null : <span class="hidden"> {email}</span>}
        </summary>
        <p>
          {isSelf ? 'You lose' : `${email} loses`} access to {organization.name} at once.{' '}
          {isSelf ? 'Your' : 'Their'} posts stay. {links} API keys keep working: revoke those that{' '}
          {isSelf ? 'you know' : 'the person knows'}.
        </p>
        <Action
          to={`${path}/remove`}
          label={isSelf ? 'Leave this organization' : 'Remove from the organization'}
          kind="bad"
        />
      </details>
    </>
  );
}

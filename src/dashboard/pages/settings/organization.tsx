import { Type } from '@sinclair/typebox';
import { forecastLog, type LogForecast } from '../../../integrations/deliveries/count-store.ts';
import type { AppError } from '../../../lib/app-error.ts';
import { cutLine } from '../../../lib/text.ts';
import { formatDay } from '../../../lib/time.ts';
import { retentionDaysOf } from '../../../people/audit.ts';
import { isSecondFactorNeeded, ORGANIZATION_TRASH_DAYS } from '../../../people/organization-store.ts';
import {
  changeOrganization,
  deleteOrganization,
  type Organization,
  Plan,
} from '../../../people/organizations.ts';
import { requireSecondFactor } from '../../../people/passkeys/service.ts';
import { get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { editForm, postForm } from '../../submission.ts';
import { counted, Facts, Link, Section, When } from '../../view/elements.tsx';
import { Action, Choice, Danger, Field, FormOf } from '../../view/form.tsx';

const PATH = '/dashboard/:organizationId/settings';

const SettingsForm = Type.Object({
  name: Type.String({ label: 'Name' }),
  plan: Type.Union(Plan.anyOf, { label: 'Delivery log', problem: 'Choose how long to keep the log.' }),
  needsApproval: Type.Boolean({
    label: 'Publishing needs a second person',
    hint: 'One person asks for the approval of a text, and another one approves exactly that text.',
  }),
});

const DeletionForm = Type.Object({
  confirm: Type.String({ label: 'Organization name', subject: 'The confirmation' }),
});

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => showSettings(visit)),

  editForm(
    PATH,
    'owner',
    SettingsForm,
    (visit, error) => showSettings(visit, { settings: error }),
    async ({ deps, organization }, values, merge) => {
      const typed = { ...values, name: values.name.trim() };
      const { plan } = await changeOrganization(deps, organization.id, (stored) =>
        merge.changes(typed, editable(stored)),
      );
      const isOther = plan !== organization.plan;
      const then = isOther ? ` Tidings keeps new log entries for ${retentionDaysOf[plan]} days.` : '';
      return redirect('settings', `Saved.${then}`);
    },
  ),

  post(`${PATH}/second-factor/enable`, 'owner', (visit) => setSecondFactor(visit, true)),
  post(`${PATH}/second-factor/disable`, 'owner', (visit) => setSecondFactor(visit, false)),

  postForm(
    `${PATH}/delete`,
    'owner',
    DeletionForm,
    (visit, error) => showSettings(visit, { deletion: error }),
    async ({ deps, organization, look }, { confirm }) => {
      const { name, expiresAt } = await deleteOrganization(deps, organization.id, confirm);
      const end = formatDay(expiresAt, look.zone);
      const done = `“${cutLine(name, 100)}” is in the trash until ${end}. Restore it under Your account.`;
      return redirect('/dashboard', done);
    },
  ),
];

const editable = ({ name, plan, needsApproval }: Organization) => ({ name, plan, needsApproval });

async function setSecondFactor({ deps, organization, sessionHash }: MemberVisit, isNeeded: boolean) {
  await requireSecondFactor(deps, organization.id, isNeeded, sessionHash);
  return redirect('settings', isNeeded ? 'A passkey is now required.' : 'A passkey is no longer required.');
}

async function showSettings(
  { deps, organization, isOwner }: MemberVisit,
  errors: { settings?: AppError; deletion?: AppError } = {},
) {
  const { id, name, plan, needsApproval } = organization;
  const [log, isStrict] = await deps.db.read((tx) =>
    Promise.all([forecastLog(tx, id, deps.clock.now()), isSecondFactorNeeded(tx, id)]),
  );
  return view(
    {
      title: 'Settings',
      heading: 'Organization',
      tab: 'settings',
      error: errors.settings ?? errors.deletion,
    },
    <p class="lede">
      The name of this organization, how long Tidings keeps entries of its delivery log, and who publishes.
    </p>,
    isOwner ? (
      <FormOf
        schema={SettingsForm}
        edits={{ noun: 'organization', stored: editable(organization) }}
        error={errors.settings}
        to="settings"
        button="Save settings"
        controls={{
          name: (field) => <Field {...field} hint={['The ID in URLs stays ', <code>{id}</code>, '.']} />,
          plan: (field) => (
            <Choice
              {...field}
              options={Plan.anyOf.map(({ const: value }) => ({
                value,
                label: retention(value),
              }))}
            >
              <p class="hint">
                <LogSize log={log} /> A change applies to new deliveries. Posts stay until you delete them.
              </p>
            </Choice>
          ),
        }}
      />
    ) : (
      <Facts
        facts={[
          ['Name', name],
          ['ID in URLs', <code>{id}</code>],
          ['Delivery log', retention(plan)],
          ['Size', <LogSize log={log} />],
          ['Publishing', needsApproval ? 'Needs a second person' : 'Needs no second person'],
          ['Changes', 'Only owners can change these settings.'],
        ]}
      />
    ),
    <SecondFactor name={name} isNeeded={isStrict} isOwner={isOwner} />,
    isOwner && <Deletion name={name} error={errors.deletion} />,
  );
}

function SecondFactor(props: { name: string; isNeeded: boolean; isOwner: boolean }) {
  const { name, isNeeded, isOwner } = props;
  return (
    <Section id="second-factor" title="Second factor">
      <p>
        {isNeeded
          ? 'Only people who use a passkey enter this organization. API keys are not affected.'
          : 'People enter with a password alone or through an identity provider. You can require a passkey.'}
      </p>
      {isOwner &&
        (isNeeded ? (
          <Action to="settings/second-factor/disable" label="Stop requiring a passkey" />
        ) : (
          <Danger
            label="Require a passkey"
            isMild
            isButton
            to="settings/second-factor/enable"
            button="Require a passkey"
          >
            From the next request on, members can't open <bdi>{name}</bdi> until they have used a passkey.
          </Danger>
        ))}
    </Section>
  );
}

function Deletion({ name, error }: { name: string; error: AppError | undefined }) {
  return (
    <Section id="danger" title="Danger zone">
      <p>
        Deleting this organization moves it to the trash. Its API keys, public page, feeds, images, and
        webhook URLs stop working at once. Its triggers, polling, schedules, and hooks stop too, and members
        no longer see it.
      </p>
      <p>
        For {ORGANIZATION_TRASH_DAYS} days, any owner can restore it under{' '}
        <a href="/dashboard/~/account#organizations">Your account</a>, with everything it has. After that,
        Tidings removes it for good. The webhooks at the provider stay. To remove them too,{' '}
        <Link to="integrations">disconnect the integrations</Link> first.
      </p>
      <FormOf
        schema={DeletionForm}
        error={error}
        to="settings/delete"
        button="Delete organization"
        kind="bad"
        controls={{
          confirm: (field) => <Field {...field} hint={['Type ', <strong>{name}</strong>, ' to confirm.']} />,
        }}
      />
    </Section>
  );
}

function retention(plan: Plan): string {
  return `Keep the log for ${retentionDaysOf[plan]} days`;
}

/** The log as it is, and its pace to two digits. */
function LogSize({ log: { entries, oldest, perDay } }: { log: LogForecast }) {
  if (oldest === null) return <>The log is empty. Each delivery adds an entry.</>;
  const daily = Math.ceil(Number(perDay.toPrecision(2)));
  return (
    <>
      The log has {counted(entries, 'entry', 'entries')}, the oldest from <When at={oldest} />, and gets about{' '}
      {daily.toLocaleString('en')} a day.
    </>
  );
}

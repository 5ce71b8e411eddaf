import { Type } from '@sinclair/typebox';
import { forecastLog, type LogForecast } from '../../../integrations/deliveries/count-store.ts';
import type { AppError } from '../../../lib/app-error.ts';
import { retentionDaysOf } from '../../../people/audit.ts';
import { changeOrganization, type Organization, Plan } from '../../../people/organizations.ts';
import { get, type MemberVisit, type Page, redirect, view } from '../../page.ts';
import { editForm } from '../../submission.ts';
import { counted, Facts, When } from '../../view/elements.tsx';
import { Choice, Field, FormOf } from '../../view/form.tsx';

const PATH = '/dashboard/:organizationId/settings';

const SettingsForm = Type.Object({
  name: Type.String({ label: 'Name' }),
  plan: Type.Union(Plan.anyOf, { label: 'Delivery log', problem: 'Choose how long to keep the log.' }),
});

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => showSettings(visit)),

  editForm(PATH, 'owner', SettingsForm, showSettings, async ({ deps, organization }, values, merge) => {
    const typed = { ...values, name: values.name.trim() };
    const { plan } = await changeOrganization(deps, organization.id, (stored) =>
      merge.changes(typed, editable(stored)),
    );
    const isOther = plan !== organization.plan;
    const then = isOther ? ` Tidings keeps new log entries for ${retentionDaysOf[plan]} days.` : '';
    return redirect('settings', `Saved.${then}`);
  }),
];

const editable = ({ name, plan }: Pick<Organization, 'name' | 'plan'>) => ({ name, plan });

async function showSettings({ deps, organization, isOwner }: MemberVisit, error?: AppError) {
  const { id, name, plan } = organization;
  const log = await deps.db.read((tx) => forecastLog(tx, id, deps.clock.now()));
  return view(
    { title: 'Settings', heading: 'Organization', tab: 'settings', error },
    <p class="lede">
      The name of this organization, and how long Tidings keeps entries of its delivery log.
    </p>,
    isOwner ? (
      <FormOf
        schema={SettingsForm}
        edits={{ noun: 'organization', stored: editable(organization) }}
        error={error}
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
          ['Changes', 'Only owners can change these settings.'],
        ]}
      />
    ),
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

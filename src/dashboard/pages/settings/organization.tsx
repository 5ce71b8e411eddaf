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
                hint: `Holds ${forecast(log, retentionDaysOf[value])}.`,
              }))}
            >
              <p class="hint">A change applies to new deliveries. Posts stay until you delete them.</p>
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
          ['Changes', 'Only owners can change these settings.'],
        ]}
      />
    ),
    <h2>Delivery log</h2>,
    log.oldest === null ? (
      <p class="dim">The log is empty. Each delivery adds an entry.</p>
    ) : (
      <p>
        The log has {counted(log.entries, 'entry', 'entries')}, the oldest from <When at={log.oldest} />.
      </p>
    ),
  );
}

function retention(plan: Plan): string {
  return `Keep the log for ${retentionDaysOf[plan]} days`;
}

/** The size of a log that has reached its full age, to two digits. */
function forecast({ perDay }: LogForecast, days: number): string {
  const entries = Math.ceil(Number((perDay * days).toPrecision(2)));
  if (entries === 0) return 'nothing, at the current rate';
  return `about ${counted(entries, 'entry', 'entries')} at the current rate`;
}

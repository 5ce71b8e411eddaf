import { Type } from '@sinclair/typebox';
import { forecastLog, type LogForecast } from '../../../integrations/deliveries/count-store.ts';
import type { AppError } from '../../../lib/app-error.ts';
import { retentionDaysOf } from '../../../people/audit.ts';
import { changeOrganization, type Organization, Plan } from '../../../people/organizations.ts';
import { editForm, editState } from '../../edit.ts';
import { get, type MemberVisit, type Page, redirect, view } from '../../page.ts';
import { formState, labelsOf } from '../../submission.ts';
import { counted, When } from '../../view/elements.tsx';
import { Choice, Field, Form } from '../../view/form.tsx';
import { Facts } from '../../view/layout.tsx';
import { useVisit } from '../../view/time.tsx';

const PATH = '/dashboard/:organizationId/settings';
const planNames: Record<Plan, string> = { free: 'Free', pro: 'Pro' };

const SettingsForm = Type.Object({
  name: Type.String({ label: 'Name' }),
  plan: Type.Union(Plan.anyOf, { label: 'Plan', problem: 'Choose a plan.' }),
});

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => showSettings(visit)),

  editForm(PATH, 'owner', SettingsForm, showSettings, async (visit, values, merge) => {
    const { deps, organization, base } = visit;
    const typed = { ...values, name: values.name.trim() };
    const { plan } = await changeOrganization(deps, organization.id, (stored) =>
      merge.changes(typed, editable(stored)),
    );
    const isOther = plan !== organization.plan;
    const then = isOther ? ` Tidings keeps new log entries for ${retentionDaysOf[plan]} days.` : '';
    return redirect(`${base}/settings`, `Saved.${then}`);
  }),
];

/** What the form edits. */
const editable = ({ name, plan }: Pick<Organization, 'name' | 'plan'>) => ({ name, plan });

async function showSettings(visit: MemberVisit, error?: AppError) {
  const { deps, organization, role } = visit;
  const log = await deps.db.read((tx) => forecastLog(tx, organization.id, deps.clock.now()));
  return view(
    { title: 'Settings', heading: 'Organization', tab: 'settings' },
    <>
      <p class="lede">
        The name and the plan of this organization. The plan sets how long Tidings keeps log entries.
      </p>
      {role === 'owner' ? <Settings log={log} error={error} /> : <Summary organization={organization} />}
      <h2>Delivery log</h2>
      <LogSize log={log} retentionDays={retentionDaysOf[organization.plan]} />
    </>,
    { section: 'settings', error },
  );
}

function Settings({ log, error }: { log: LogForecast; error: AppError | undefined }) {
  const visit = useVisit();
  const { organization, form, base } = visit;
  const stored = editable(organization);
  const typed = { ...stored, ...Object.fromEntries(form) };
  const { fields, problem } = formState(SettingsForm, typed, error);
  const labels = labelsOf(SettingsForm);
  const edit = { ...editState(visit, stored, error), noun: 'organization', labels };
  return (
    <Form to={`${base}/settings`} problem={problem} button="Save settings" edit={edit}>
      <Field {...fields.name} hint={['The ID in URLs stays ', <code>{organization.id}</code>, '.']} />
      <Choice
        {...fields.plan}
        options={Plan.anyOf.map(({ const: value }) => ({
          value,
          label: retention(value),
          hint: `Holds ${forecast(log, retentionDaysOf[value])}.`,
        }))}
      >
        <p class="hint">A change applies to new deliveries. Posts stay until you delete them.</p>
      </Choice>
    </Form>
  );
}

function retention(plan: Plan): string {
  return `${planNames[plan]}: Tidings keeps log entries for ${retentionDaysOf[plan]} days`;
}

/** For members, who cannot change the settings. */
function Summary({ organization: { name, id, plan } }: { organization: Organization }) {
  return (
    <Facts
      facts={[
        ['Name', name],
        ['ID in URLs', <code>{id}</code>],
        ['Plan', retention(plan)],
        ['Changes', 'Only owners can change these settings.'],
      ]}
    />
  );
}

function LogSize({ log, retentionDays }: { log: LogForecast; retentionDays: number }) {
  if (log.oldest === null) return <p class="dim">The log is empty. Each delivery adds an entry.</p>;
  return (
    <p>
      The log has {counted(log.entries, 'entry', 'entries')}, the oldest from <When at={log.oldest} />. It
      will hold {forecast(log, retentionDays)}.
    </p>
  );
}

/** The size of a log that has reached its full age, to two digits. */
function forecast({ perDay }: LogForecast, days: number): string {
  const entries = Math.ceil(Number((perDay * days).toPrecision(2)));
  if (entries === 0) return 'nothing, at the current rate';
  return `about ${counted(entries, 'entry', 'entries')} at the current rate`;
}

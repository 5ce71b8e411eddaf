/** @jsxRuntime automatic @jsxImportSource preact */

import { forecastLog, type LogForecast } from '../../../deliveries/count-store.ts';
import { AppError } from '../../../lib/app-error.ts';
import { Plan, retentionDaysOf } from '../../../organizations/model.ts';
import { changeOrganization } from '../../../organizations/service.ts';
import { get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { Field, FormError } from '../../view/form.tsx';
import { problemWith } from '../../view/problem.ts';
import { SettingsTabs } from '../../view/settings-tabs.tsx';
import { When } from '../../view/when.tsx';

const PATH = '/dashboard/:organizationId/settings';
const planNames: Readonly<Record<Plan, string>> = { free: 'Free', pro: 'Pro' };

export const organization: readonly Page[] = [
  get(PATH, 'member', (visit) => showSettings(visit)),

  post(PATH, 'owner', async (visit) => {
    const { deps, organization, form, base } = visit;
    try {
      const input = { name: form.get('name') ?? '', plan: form.get('plan') ?? '' };
      const { plan } = await changeOrganization(deps, organization.id, input);
      const isOther = plan !== organization.plan;
      const then = isOther ? ` New entries of the log are kept for ${retentionDaysOf[plan]} days.` : '';
      return redirect(`${base}/settings`, `Saved.${then}`);
    } catch (error) {
      if (!(error instanceof AppError) || error.status !== 400) throw error;
      return showSettings(visit, error.message);
    }
  }),
];

async function showSettings(visit: MemberVisit, error?: string) {
  const { deps, organization, role, base } = visit;
  const log = await deps.db.read((tx) => forecastLog(tx, organization.id, deps.clock.now()));
  return view(
    'Settings',
    <>
      <h1>Settings</h1>
      <SettingsTabs base={base} isOwner={role === 'owner'} current="settings" />
      <p class="lede">What this organization is called, and how long its log of deliveries is kept.</p>
      {role === 'owner' ? <SettingsForm visit={visit} log={log} error={error} /> : <Facts visit={visit} />}
      <h2>The log now</h2>
      <LogNow log={log} now={deps.clock.now()} retentionDays={retentionDaysOf[organization.plan]} />
    </>,
    { section: 'settings', ...(error === undefined ? {} : { status: 400 }) },
  );
}

function SettingsForm({
  visit: { organization, form, base },
  log,
  error,
}: {
  visit: MemberVisit;
  log: LogForecast;
  error: string | undefined;
}) {
  const aboutName = problemWith('name', 'The name', error);
  const chosen = form.get('plan') ?? organization.plan;
  return (
    <form method="post" action={`${base}/settings`} class="stack">
      <FormError error={aboutName === null ? error : null} />
      <Field
        label="Name"
        name="name"
        value={form.get('name') ?? organization.name}
        hint={
          <>
            In addresses it is called <code>{organization.id}</code>, and stays so.
          </>
        }
        error={aboutName}
      />
      <fieldset>
        <legend class="label">Plan</legend>
        {Plan.anyOf.map(({ const: plan }) => (
          <label class="check">
            <input type="radio" name="plan" value={plan} checked={plan === chosen} />
            <span>
              {planNames[plan]}: an entry of the log is kept for {retentionDaysOf[plan]} days
              <span class="hint">{forecast(log, retentionDaysOf[plan])}</span>
            </span>
          </label>
        ))}
        <p class="hint">A change holds for what arrives from then on. Posts are kept for good.</p>
      </fieldset>
      <button type="submit" class="button go">
        Save
      </button>
    </form>
  );
}

function Facts({ visit: { organization } }: { visit: MemberVisit }) {
  const { name, id, plan } = organization;
  return (
    <dl class="card facts">
      <dt>Name</dt>
      <dd>{name}</dd>
      <dt>In addresses</dt>
      <dd>
        <code>{id}</code>
      </dd>
      <dt>Plan</dt>
      <dd>
        {planNames[plan]}: an entry of the log is kept for {retentionDaysOf[plan]} days
      </dd>
      <dt>Changes</dt>
      <dd>are made by owners.</dd>
    </dl>
  );
}

function LogNow({ log, now, retentionDays }: { log: LogForecast; now: Date; retentionDays: number }) {
  if (log.oldest === null) {
    return <p class="dim">It is empty. Each delivery from GitHub or Linear becomes an entry.</p>;
  }
  const entries = `${log.isCapped ? 'more than ' : ''}${log.entries.toLocaleString('en')}`;
  return (
    <p>
      It holds {entries} {log.entries === 1 ? 'entry,' : 'entries, the oldest'} from{' '}
      <When at={log.oldest} now={now} />. It will hold {forecast(log, retentionDays)}.
    </p>
  );
}

/** What a log will hold once it is as old as it gets, to two digits: more would only look exact. */
function forecast({ perDay }: LogForecast, days: number): string {
  const entries = Math.ceil(Number((perDay * days).toPrecision(2)));
  if (entries === 0) return 'nothing, at the present rate';
  return `about ${entries.toLocaleString('en')} ${entries === 1 ? 'entry' : 'entries'} at the present rate`;
}

import { sendDelivery } from '../../../intake/receiver/send.ts';
import { setEnabled } from '../../../integrations/connect.ts';
import { findDelivery } from '../../../integrations/deliveries/log-store.ts';
import { diagnose, type Finding } from '../../../integrations/doctor.ts';
import { listHooks } from '../../../integrations/hook-store.ts';
import { disconnectIntegration, removePlace } from '../../../integrations/places.ts';
import { repairHooks, rotateSecret } from '../../../integrations/rotate.ts';
import {
  describeFinding,
  describeOldSecret,
  fixes,
  integrationName,
  providerNames,
} from '../../../integrations/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import { formatTime } from '../../../lib/time.ts';
import { providerOf, sampleFor } from '../../../providers/index.ts';
import { withPeriod } from '../../fields.ts';
import { type Page, redirect } from '../../page.ts';
import { counted, LinkButton, ValuesToCopy } from '../../view/elements.tsx';
import { Action } from '../../view/form.tsx';
import { type Failure, showIntegration } from './one.tsx';
import {
  describeConnected,
  type IntegrationVisit,
  integrationForm,
  integrationPage,
  problemOf,
  subpage,
} from './subpage.tsx';
import { placeName } from './webhooks.tsx';

const names: Readonly<Record<Finding['name'], string>> = {
  enabled: 'Accepts deliveries',
  reachability: 'Public address',
  hook: 'Webhook',
  'last-delivery': 'Last delivery',
  ping: 'Ping',
  secret: 'Secret',
  repository: 'Repository',
  missed: 'Missed deliveries',
  installation: 'Installation',
  polling: 'Polling',
};

const marks = {
  ok: { tag: 'active', word: 'OK' },
  warning: { tag: 'soon', word: 'Warning' },
  failed: { tag: 'failed', word: 'Problem' },
} as const;

function findingRow(visit: IntegrationVisit, finding: Finding) {
  const { integration, path, look } = visit;
  const { name, status, place, fix } = finding;
  const { tag, word } = marks[status];
  const credential = integration.app === null ? 'replace_token' : 'replace_key';
  return (
    <li>
      <span class="mark-of">
        <span class={`tag ${tag}`}>{word}</span>
      </span>
      <div class="grow">
        <h2 class="label">{place === undefined ? names[name] : `${names[name]}: ${place}`}</h2>
        <p class="reason">
          {finding.code === 'hook_check_failed'
            ? problemOf(visit, finding.problem)
            : withPeriod(describeFinding(finding, (at) => formatTime(at, look.zone)))}
        </p>
        <Fix fix={fix ?? (name === 'hook' && status === 'failed' ? credential : undefined)} path={path} />
      </div>
    </li>
  );
}

/** The target of a fix: a form with `busy`, which its button says while it waits, or another page. */
const buttons: Readonly<Record<string, { to: string; label: string; busy?: string }>> = {
  enable: { to: '/enable', label: 'Enable integration', busy: 'Enabling…' },
  repair: { to: '/repair', label: 'Repair webhooks', busy: 'Repairing…' },
  rotate_secret: { to: '/secret', label: 'Create new secret', busy: 'Creating secret…' },
  set_token: { to: '/token', label: 'Add token' },
  replace_token: { to: '/token', label: 'Replace token' },
  replace_key: { to: '/key', label: 'Replace key' },
  install_app: { to: '', label: 'Open integration' },
  redeliver: { to: '/missed', label: 'View missed deliveries' },
  send_test: { to: '#test', label: 'Send test event' },
};

function Fix({ fix = '', path }: { fix: string | undefined; path: string }) {
  const button = buttons[fix];
  if (button === undefined) return fixes[fix] === undefined ? null : <p class="hint">{fixes[fix]}.</p>;
  const { to, label, busy } = button;
  if (busy === undefined) return <LinkButton to={`${path}${to}`} label={label} />;
  return <Action to={`${path}${to}`} label={label} busy={busy} isOnce />;
}

const showAt = (about: Failure['about']) => (visit: IntegrationVisit, error: unknown) =>
  showIntegration(visit, { about, error });

async function sendTest({ deps, organization, form, integration }: IntegrationVisit) {
  const { db, clock, secrets, self } = deps;
  const event = form.get('event') ?? '';
  const sample = sampleFor(integration, event, { now: clock.now() });
  if (sample === null) throw new AppError(400, 'This event has no sample. Choose an event from the list.');
  const deliveryId = deps.ids.newUuid();
  const body = JSON.stringify(sample);
  const { status } = await sendDelivery(
    { db, clock, secrets, fetch: self },
    { integrationId: integration.id, event, deliveryId, body, baseUrl: 'http://localhost' },
  );
  const entry = await db.read((tx) => findDelivery(tx, organization.id, deliveryId));
  return entry === null
    ? redirect(
        `deliveries?integration=${integration.id}`,
        `Tidings rejected the test event with ${status}. The newest entry shows the reason.`,
      )
    : redirect(`deliveries/${entry.id}`, 'Test event sent.');
}

/** Shows the new secret once, unless Tidings has set it at the provider. */
async function rotate(visit: IntegrationVisit) {
  const { deps, form, integration, path } = visit;
  const { id, type } = integration;
  const provider = providerNames[type];
  const now = form.get('now') === 'yes';
  const { secret, isSetAtProvider } = await rotateSecret(deps, id, { now });
  const old = describeOldSecret(type, now, isSetAtProvider);
  // With an unreadable token, a person has to set it.
  if (isSetAtProvider) return redirect(path, `Created a new secret and set it at ${provider}. ${old}`);
  return subpage(
    visit,
    { title: 'New secret' },
    <p class="lede">
      Copy it now and set it at {provider}. Tidings shows it only once. {old}
    </p>,
    <ValuesToCopy values={[['Secret', secret, 'Copy secret']]} />,
    <LinkButton to={path} label="Open integration" kind="go" />,
  );
}

export const routes: readonly Page[] = [
  integrationPage('check', async (visit) => {
    const { deps, integration, path } = visit;
    const { findings } = await diagnose(deps, integration.id);
    const { failed = [], warning = [], ok = [] } = Object.groupBy(findings, ({ status }) => status);
    const heading = [
      failed.length > 0 && counted(failed.length, 'problem'),
      warning.length > 0 && counted(warning.length, 'warning'),
    ];
    return subpage(
      visit,
      { title: 'Check', heading: heading.filter(Boolean).join(', ') || 'Everything is OK' },
      <p class="lede">
        Tidings checked everything that deliveries of {integrationName(integration)} depend on. It changed
        nothing.
      </p>,
      <ul class="card rows checks">
        {[...failed, ...warning, ...ok].map((finding) => findingRow(visit, finding))}
      </ul>,
      <p class="bar">
        <LinkButton to={`${path}/check`} label="Check again" />
      </p>,
    );
  }),
  integrationForm('enable', async ({ deps, integration, path }) => {
    await setEnabled(deps, integration.id, true);
    return redirect(path, 'Integration enabled. Tidings accepts its deliveries again.');
  }),
  integrationForm('disable', async ({ deps, integration, path }) => {
    await setEnabled(deps, integration.id, false);
    const done = 'Integration disabled. Tidings rejects its deliveries until you enable it.';
    return redirect(path, done);
  }),
  integrationForm('test', sendTest),
  integrationForm(
    'repair',
    async ({ deps, integration: { id, type }, path }) =>
      redirect(path, describeConnected(type, await repairHooks(deps, id), 'Repaired')),
    showAt('hooks'),
  ),
  integrationForm(
    'remove',
    async ({ deps, form, integration, path }) => {
      const place = form.get('place') ?? '';
      const hooks = await deps.db.read((tx) => listHooks(tx, integration.id));
      const force = form.get('force') === 'yes';
      const { isLeft } = await removePlace(deps, integration.id, place, { force });
      const left = isLeft
        ? ` Its webhook may still exist. Delete it at ${providerNames[integration.type]}.`
        : '';
      return redirect(path, `${placeName(integration, hooks, place)} is disconnected.${left}`);
    },
    showAt('hooks'),
  ),
  integrationForm('secret', rotate, showAt('secret')),
  integrationForm(
    'disconnect',
    async ({ deps, form, integration }) => {
      const force = form.get('force') === 'yes';
      const { left } = await disconnectIntegration(deps, integration.id, { force });
      const rest = left.length === 0 ? '' : ` A webhook remains at ${left.join(', ')}. Delete it there.`;
      const { app, type } = integration;
      const support = providerOf(type).app;
      const page = app === null ? undefined : support?.pages(deps.providerUrls?.[type], app).danger;
      const own = page === undefined ? '' : ` Delete the App at ${page}`;
      return redirect('integrations', `${integrationName(integration)} is disconnected.${rest}${own}`);
    },
    showAt('disconnect'),
  ),
];

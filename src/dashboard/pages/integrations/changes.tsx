/** @jsxRuntime automatic @jsxImportSource preact */
import { findDelivery } from '../../../deliveries/log-store.ts';
import { setEnabled } from '../../../integrations/connect.ts';
import { listHooks } from '../../../integrations/hook-store.ts';
import { integrationName, providerNames } from '../../../integrations/model.ts';
import { disconnectIntegration, removePlace } from '../../../integrations/places.ts';
import { repairHooks, rotateSecret } from '../../../integrations/rotate.ts';
import { describeOldSecret } from '../../../integrations/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import { providerOf, sampleFor } from '../../../providers/index.ts';
import { sendDelivery } from '../../../receiver/send.ts';
import { type Page, redirect } from '../../page.ts';
import { LinkButton, ToCopy } from '../../view/elements.tsx';
import { type Failure, showIntegration } from './one.tsx';
import { type IntegrationVisit, integrationForm, subpage } from './subpage.tsx';
import { placeName } from './webhooks.tsx';
import { describeConnected } from './words.ts';

/** Shows a failure at one of the forms of the integration's page. */
const showAt = (about: Failure['about']) => (visit: IntegrationVisit, error: unknown) =>
  showIntegration(visit, { about, error });

/** The forms on the page of an integration. */
export const routes: readonly Page[] = [
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
    async ({ deps, form, base, integration }) => {
      const force = form.get('force') === 'yes';
      const { left } = await disconnectIntegration(deps, integration.id, { force });
      const rest = left.length === 0 ? '' : ` A webhook remains at ${left.join(', ')}. Delete it there.`;
      const { app, type } = integration;
      const support = providerOf(type).app;
      const page = app === null ? undefined : support?.pages(deps.providerUrls?.[type], app).danger;
      const own = page === undefined ? '' : ` Delete the App at ${page}`;
      return redirect(
        `${base}/integrations`,
        `${integrationName(integration)} is disconnected.${rest}${own}`,
      );
    },
    showAt('disconnect'),
  ),
];

/** Sends a signed delivery to this service, the way a provider does. */
async function sendTest({ deps, organization, base, form, integration }: IntegrationVisit) {
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
        `${base}/deliveries?integration=${integration.id}`,
        `Tidings rejected the test event with ${status}. The newest entry shows the reason.`,
      )
    : redirect(`${base}/deliveries/${entry.id}`, 'Test event sent.');
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
    <>
      <p class="lede">
        Copy it now and set it at {provider}. Tidings shows it only once. {old}
      </p>
      <div class="card pad">
        <p class="label">Secret</p>
        <ToCopy text={secret} label="Copy secret" />
      </div>
      <LinkButton to={path} label="Open integration" kind="go" />
    </>,
  );
}

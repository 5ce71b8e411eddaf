/** @jsxRuntime automatic @jsxImportSource preact */
import { findDelivery } from '../../../deliveries/log-store.ts';
import { setEnabled } from '../../../integrations/connect.ts';
import { listHooks } from '../../../integrations/hook-store.ts';
import { type Integration, integrationName, providerNames } from '../../../integrations/model.ts';
import { disconnectIntegration, removePlace } from '../../../integrations/places.ts';
import { repairHooks, rotateSecret } from '../../../integrations/rotate.ts';
import { describeOldSecret } from '../../../integrations/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import { sampleFor } from '../../../providers/index.ts';
import { sendDelivery } from '../../../receiver/send.ts';
import { type Answer, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { once } from '../../submission.ts';
import { ToCopy } from '../../view/elements.tsx';
import { PATH, requireIntegration } from './card.tsx';
import { placeName, showIntegration } from './one.tsx';
import { describeConnected } from './words.ts';

type Change = (visit: MemberVisit, integration: Integration, path: string) => Promise<Answer>;

/** The forms on the page of an integration. */
export const changePages: readonly Page[] = [
  changePage('enable', null, async ({ deps }, { id }, path) => {
    await setEnabled(deps, id, true);
    return redirect(path, 'The integration accepts deliveries again.');
  }),
  changePage('disable', null, async ({ deps }, { id }, path) => {
    await setEnabled(deps, id, false);
    return redirect(
      path,
      'The integration refuses deliveries until you enable it again. Nothing was deleted.',
    );
  }),
  changePage('test', null, sendTest),
  changePage('repair', 'hooks', async ({ deps, form }, { id, type }, path) => {
    const places = await once(deps.db, form.get('mark'), () => repairHooks(deps, id));
    const done =
      places === null
        ? 'This form was sent before, and its work is done only once.'
        : describeConnected(type, places, 'set up again');
    return redirect(path, done);
  }),
  changePage('remove', 'hooks', async ({ deps, form }, integration, path) => {
    const { id } = integration;
    const place = form.get('place') ?? '';
    const hooks = await deps.db.read((tx) => listHooks(tx, id));
    const { isLeft } = await removePlace(deps, id, place, { force: form.get('force') === 'yes' });
    const left = isLeft ? ' Its webhook may be left there: delete it by hand.' : '';
    return redirect(path, `${placeName(integration, hooks, place)} is disconnected.${left}`);
  }),
  changePage('secret', 'secret', rotate),
  changePage('disconnect', 'disconnect', async ({ deps, form, base }, integration) => {
    const { left } = await disconnectIntegration(deps, integration.id, {
      force: form.get('force') === 'yes',
    });
    const rest = left.length === 0 ? '' : ` A webhook was left at ${left.join(', ')}: delete it there.`;
    return redirect(`${base}/integrations`, `${integrationName(integration)} is disconnected.${rest}`);
  }),
];

/** `about`: the form that shows a failure of the change. Null: failures pass. */
function changePage(name: string, about: 'hooks' | 'secret' | 'disconnect' | null, change: Change): Page {
  return post(`${PATH}/${name}`, 'owner', async (visit) => {
    const integration = await requireIntegration(visit);
    try {
      return await change(visit, integration, `${visit.base}/integrations/${integration.id}`);
    } catch (error) {
      if (about === null) throw error;
      return showIntegration(visit, { about, error });
    }
  });
}

/** Sends a signed delivery to this service, the way a provider does. */
async function sendTest(visit: MemberVisit, integration: Integration): Promise<Answer> {
  const { deps, organization, base, form } = visit;
  const event = form.get('event') ?? '';
  const sample = sampleFor(integration, event, { now: deps.clock.now() });
  if (sample === null) throw new AppError(400, 'There is no sample of this event. Choose one from the list.');
  const deliveryId = deps.ids.newUuid();
  const { status } = await sendDelivery(
    { db: deps.db, secrets: deps.secrets, fetch: deps.self },
    {
      integrationId: integration.id,
      event,
      deliveryId,
      body: JSON.stringify(sample),
      baseUrl: 'http://localhost',
    },
  );
  const entry = await findDelivery(deps.db, organization.id, deliveryId);
  return entry === null
    ? redirect(
        `${base}/deliveries?integration=${integration.id}`,
        `The test event was refused with ${status}. The newest entry has the reason.`,
      )
    : redirect(`${base}/deliveries/${entry.id}`, 'The test event was sent. This is its log entry.');
}

/** Shows the new secret once, unless Tidings has set it at the provider. */
async function rotate({ deps, form }: MemberVisit, integration: Integration, path: string): Promise<Answer> {
  const provider = providerNames[integration.type];
  const now = form.get('now') === 'yes';
  // A reload must not rotate again: the receiver would then refuse the secret that the provider has.
  const rotated = await once(deps.db, form.get('mark'), () => rotateSecret(deps, integration.id, { now }));
  if (rotated === null) {
    const advice = integration.hasToken ? '' : ' If you did not copy the secret, rotate it again.';
    return redirect(path, `This form was sent before. No other secret was created.${advice}`);
  }
  const old = describeOldSecret(integration.type, now, rotated.isSetAtProvider);
  // With an unreadable token, a person has to set it.
  if (rotated.isSetAtProvider) return redirect(path, `A new secret was made and set at ${provider}. ${old}`);
  return view(
    'A new secret',
    <>
      <h1>A new secret for {integrationName(integration)}</h1>
      <p class="lede">
        It is shown only once: copy it now, and set it at {provider}. {old}
      </p>
      <div class="card pad">
        <p class="label">Secret</p>
        <ToCopy text={rotated.secret} label="Copy the secret" />
      </div>
      <a class="button go" href={path}>
        I have set it at {provider}
      </a>
    </>,
    { section: 'integrations' },
  );
}

import { connectPolled, useManualWebhook, usePolling, useWebhook } from '../../../intake/polling/connect.ts';
import { pollNow } from '../../../intake/polling/poll.ts';
import { describePollInterval } from '../../../integrations/poll-store.ts';
import { type IntegrationType, providerNames } from '../../../integrations/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import { providerOf, providers } from '../../../providers/index.ts';
import { type Answer, type MemberVisit, type Page, post, redirect } from '../../page.ts';
import { once } from '../../submission.ts';
import { counted, LinkButton, ValuesToCopy } from '../../view/elements.tsx';
import { Action, Field, Form, FormError, fieldProblem } from '../../view/form.tsx';
import { POLLED_FIELD, showIntegrations } from './list.tsx';
import { showIntegration } from './one.tsx';
import { LocalAddressNote } from './overview.tsx';
import {
  describeConnected,
  describeNames,
  formPages,
  type IntegrationVisit,
  integrationForm,
  subpage,
  TOKEN_FIELD,
} from './subpage.tsx';

export const routes: readonly Page[] = [
  ...providers
    .filter(({ reader }) => reader !== null)
    .map(({ id }) =>
      post(`/dashboard/:organizationId/integrations/${id}/poll`, 'owner', (visit) => connect(visit, id)),
    ),
  integrationForm('poll', pollAll, (visit, error) => showIntegration(visit, { about: 'hooks', error })),
  ...formPages('webhook', showWebhookForm, toWebhook),
  integrationForm('webhook-by-hand', toManualWebhook),
  ...formPages('polling', showPollingForm, toPolling),
];

async function connect(visit: MemberVisit, type: IntegrationType): Promise<Answer> {
  const { deps, organization, form } = visit;
  try {
    const answer = await once(deps, form.get('mark'), async () => {
      const repositories = (form.get(POLLED_FIELD) ?? '').split(/[\s,]+/).filter((name) => name !== '');
      const token = form.get(TOKEN_FIELD)?.trim() || undefined;
      const request = { type, organizationId: organization.id, repositories, token };
      const { integrationId, places } = await connectPolled(deps, request);
      const done = `Connected by polling: ${places.map(({ place }) => place).join(', ')}. Polling starts now and skips earlier releases.`;
      return redirect(`integrations/${integrationId}`, done);
    });
    return answer ?? redirect('integrations', 'This form was already submitted. Nothing else was connected.');
  } catch (error) {
    return showIntegrations(visit, { type, field: 'poll', error });
  }
}

async function pollAll({ deps, integration: { id, type }, path }: IntegrationVisit) {
  const polled = await pollNow(deps, id);
  const failed = polled.filter(({ problem }) => problem !== null);
  const news = polled.reduce((sum, each) => sum + each.news, 0);
  const found = news === 0 ? 'Nothing new.' : `${counted(news, 'event')} found.`;
  if (failed.length === 0) return redirect(path, found);
  const names = failed.map((each) => each.repository);
  return redirect(path, `${found} Could not poll ${describeNames(type, names)}. ${failed[0]?.problem}`);
}

async function toWebhook({ deps, form, integration: { id, type }, path }: IntegrationVisit) {
  const places = await useWebhook(deps, id, { token: form.get(TOKEN_FIELD)?.trim() || undefined });
  return redirect(
    path,
    `${describeConnected(type, places, 'Webhook created')} Polling ends after its first delivery.`,
  );
}

async function toManualWebhook(visit: IntegrationVisit) {
  const { deps, integration, path } = visit;
  const { secret, urls } = await useManualWebhook(deps, integration.id);
  return subpage(
    visit,
    { title: 'Set up the webhook' },
    <p class="lede">
      Enter the URL and the secret at {providerNames[integration.type]}. Tidings shows the secret only once,
      and polls until the first delivery has arrived.
    </p>,
    <ValuesToCopy
      values={[
        ...urls.map((each) => [`Webhook URL of ${each.repository}`, each.webhookUrl, 'Copy URL'] as const),
        ['Secret', secret, 'Copy secret'],
      ]}
    />,
    <LinkButton to={path} label="Open integration" kind="go" />,
  );
}

function showWebhookForm(visit: IntegrationVisit, error?: string) {
  const { deps, integration, path } = visit;
  const { name, api, words } = providerOf(integration.type);
  const id = 'field-webhook-token';
  return subpage(
    visit,
    { title: 'Use a webhook' },
    <p class="lede">
      {name} then delivers each event at once. Tidings goes on polling until the first delivery has arrived,
      and once more, so no event is lost or drafted twice.
    </p>,
    <LocalAddressNote url={deps.publicUrl()} type={integration.type} />,
    integration.app !== null ? (
      <div class="bar">
        <Action to={`${path}/webhook`} label="Use webhook of the App" kind="go" isOnce />
      </div>
    ) : api === null ? null : (
      <Form
        to={`${path}/webhook`}
        problem={fieldProblem(id, error)}
        button="Create webhook"
        busy="Creating webhook…"
        isOnce
      >
        <Field
          label={integration.hasToken ? `${api.words.label} (optional)` : api.words.label}
          name={TOKEN_FIELD}
          id={id}
          type="password"
          required={!integration.hasToken}
          error={error}
          hint={
            integration.hasToken
              ? 'Leave it empty to use the stored token, if it may administer webhooks.'
              : `It must be able to administer webhooks of the ${words.place.one}, and to read its code. It is kept encrypted.`
          }
        />
      </Form>
    ),
    integration.app === null && (
      <>
        <h2>Without a token</h2>
        <p class="hint">Tidings shows a URL and a new secret, and you create the webhook at {name}.</p>
        <div class="bar">
          <Action to={`${path}/webhook-by-hand`} label="Set up by hand" isOnce />
        </div>
      </>
    ),
  );
}

async function toPolling({ deps, integration, path }: IntegrationVisit) {
  const { byHand } = await usePolling(deps, integration.id);
  if (integration.app !== null) return redirect(path, 'Polling. The App stays installed.');
  return redirect(
    path,
    byHand.length === 0
      ? 'Polling. Tidings deletes the webhook after the next round.'
      : `Polling. Delete the webhook of ${byHand.join(', ')} by hand.`,
  );
}

function showPollingForm(visit: IntegrationVisit, error?: string) {
  const { integration, path } = visit;
  const { name, reader } = providerOf(integration.type);
  if (reader === null) throw new AppError(404, `Tidings cannot poll ${name}.`);
  return subpage(
    visit,
    { title: 'Use polling' },
    <p class="lede">
      Tidings then asks {name} for what is new, and needs no public URL. The webhook stays for one more round,
      so no event is lost or drafted twice.
    </p>,
    <p class="hint">{describePollInterval(integration, integration.repositories.length)}</p>,
    <FormError error={error} />,
    <Action to={`${path}/polling`} label="Start polling" kind="go" busy="Reading…" isOnce />,
  );
}

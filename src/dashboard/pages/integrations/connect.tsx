/** @jsxRuntime automatic @jsxImportSource preact */

import { connectIntegration } from '../../../integrations/connect.ts';
import type { Connected } from '../../../integrations/model.ts';
import { AppError } from '../../../lib/app-error.ts';
import { type IntegrationType, providerOf, providers } from '../../../providers/index.ts';
import { once } from '../../once.ts';
import { type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { ToCopy } from '../../view/copy.tsx';
import { showIntegrations } from './list.tsx';
import { Phrases } from './token-field.tsx';

const PATH = '/dashboard/:organizationId/integrations';

export const connect: readonly Page[] = providers.map(({ id: type, hasRepositories }) =>
  post(`${PATH}/${type}`, 'owner', async (visit) => {
    if (!hasRepositories) return connectOnce(visit, type);
    try {
      return await connectOnce(visit, type, visit.form.get('repository')?.trim() ?? '');
    } catch (error) {
      if (!(error instanceof AppError) || error.status !== 400) throw error;
      return showIntegrations(visit, { type, field: 'repository', message: error.message });
    }
  }),
);

/** A form that is sent again, by a reload say, makes no second integration. */
async function connectOnce(visit: MemberVisit, type: IntegrationType, repository?: string) {
  const { deps, organization, base, form } = visit;
  const connected = await once(deps.db, form.get('mark'), () =>
    connectIntegration(deps, type, organization.id, repository),
  );
  return connected === null
    ? redirect(
        `${base}/integrations`,
        'This form was sent before, and no other integration was made. If you did not copy the secret, open the integration and make a new one.',
      )
    : showConnected(base, type, connected, repository ?? null);
}

/** The one time that the secret is told: this answer is kept by nobody, and no address leads back to it. */
function showConnected(
  base: string,
  type: IntegrationType,
  { integrationId, webhookUrl, secret }: Connected,
  repository: string | null,
) {
  const { name: provider, words } = providerOf(type);
  return view(
    `Connect ${provider}`,
    <>
      <h1>{repository ?? provider} is almost connected</h1>
      <p class="lede">Give {provider} these two. The secret is shown this once: copy it now.</p>
      <div class="card pad">
        <p class="label">Webhook URL</p>
        <ToCopy text={webhookUrl} label="Copy the URL" />
        <p class="label">Secret</p>
        <ToCopy text={secret} label="Copy the secret" />
      </div>
      <h2>At {provider}</h2>
      <ol>
        {words.steps(repository).map((phrases) => (
          <li>
            <Phrases phrases={phrases} />
          </li>
        ))}
      </ol>
      <p>
        <a class="button go" href={`${base}/integrations/${integrationId}`}>
          I have done this
        </a>
      </p>
    </>,
    { section: 'integrations' },
  );
}

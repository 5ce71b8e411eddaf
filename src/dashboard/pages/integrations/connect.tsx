/** @jsxRuntime automatic @jsxImportSource preact */

import { connectIntegration } from '../../../integrations/connect.ts';
import type { Connected, IntegrationType } from '../../../integrations/model.ts';
import { AppError } from '../../../lib/app-error.ts';
import { once } from '../../once.ts';
import { type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { ToCopy } from '../../view/copy.tsx';
import { showIntegrations } from './list.tsx';

const PATH = '/dashboard/:organizationId/integrations';

export const connect: readonly Page[] = [
  post(`${PATH}/github`, 'owner', async (visit) => {
    const repository = visit.form.get('repository')?.trim() ?? '';
    try {
      return await connectOnce(visit, 'github', repository);
    } catch (error) {
      if (!(error instanceof AppError) || error.status !== 400) throw error;
      return showIntegrations(visit, { field: 'repository', message: error.message });
    }
  }),

  post(`${PATH}/linear`, 'owner', (visit) => connectOnce(visit, 'linear')),
];

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
    : showConnected(base, connected, repository ?? null);
}

/** The one time that the secret is told: this answer is kept by nobody, and no address leads back to it. */
function showConnected(
  base: string,
  { integrationId, webhookUrl, secret }: Connected,
  repository: string | null,
) {
  const provider = repository === null ? 'Linear' : 'GitHub';
  return view(
    `Connect ${provider}`,
    <>
      <h1>{repository ?? 'Linear'} is almost connected</h1>
      <p class="lede">Give {provider} these two. The secret is shown this once: copy it now.</p>
      <div class="card pad">
        <p class="label">Webhook URL</p>
        <ToCopy text={webhookUrl} label="Copy the URL" />
        <p class="label">Secret</p>
        <ToCopy text={secret} label="Copy the secret" />
      </div>
      <h2>At {provider}</h2>
      {repository === null ? <LinearSteps /> : <GithubSteps repository={repository} />}
      <p>
        <a class="button go" href={`${base}/integrations/${integrationId}`}>
          I have done this
        </a>
      </p>
    </>,
    { section: 'integrations' },
  );
}

function GithubSteps({ repository }: { repository: string }) {
  return (
    <ol>
      <li>
        Open{' '}
        <a href={`https://github.com/${repository}/settings/hooks/new`} rel="noreferrer">
          the settings of {repository}, Webhooks, Add webhook
        </a>
        .
      </li>
      <li>Paste the URL and the secret.</li>
      <li>
        Choose the content type <code>application/json</code>.
      </li>
      <li>Choose the events that you want: releases, pushes and pull requests become posts.</li>
    </ol>
  );
}

function LinearSteps() {
  return (
    <ol>
      <li>Open Settings, API, New webhook.</li>
      <li>Paste the URL and the secret.</li>
      <li>Choose Issues, Projects and Project updates.</li>
    </ol>
  );
}

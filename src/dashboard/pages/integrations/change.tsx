/** @jsxRuntime automatic @jsxImportSource preact */

import { rotateSecret } from '../../../hooks/rotate.ts';
import type { Integration } from '../../../integrations/model.ts';
import { providerNames } from '../../../integrations/model.ts';
import { deleteIntegration, setEnabled } from '../../../integrations/store.ts';
import { once } from '../../once.ts';
import { type Page, post, redirect, view } from '../../page.ts';
import { ToCopy } from '../../view/copy.tsx';
import { Action } from '../../view/form.tsx';
import { integrationName } from '../deliveries/rows.tsx';
import { requireIntegration } from './find.ts';

const PATH = '/dashboard/:organizationId/integrations/:integrationId';

export const changeIntegration: readonly Page[] = [
  ...(['enable', 'disable'] as const).map((name) =>
    post(`${PATH}/${name}`, 'owner', async (visit) => {
      const { id } = await requireIntegration(visit);
      await setEnabled(visit.deps.db, id, name === 'enable');
      return redirect(
        `${visit.base}/integrations/${id}`,
        name === 'enable'
          ? 'Deliveries are taken again.'
          : 'Deliveries are refused until it is enabled again. Nothing was deleted.',
      );
    }),
  ),

  post(`${PATH}/secret`, 'owner', async (visit) => {
    const integration = await requireIntegration(visit);
    const { deps, form, base } = visit;
    // A reload must not make another: the provider's present one would then be the last but one, and refused.
    const rotated = await once(deps.db, form.get('mark'), () => rotateSecret(deps, integration.id));
    if (rotated === null) {
      return redirect(
        `${base}/integrations/${integration.id}`,
        'This form was sent before, and no other secret was made. If you did not copy the one that it made, make a new one.',
      );
    }
    const provider = providerNames[integration.type];
    return view(
      'A new secret',
      <>
        <h1>A new secret for {integrationName(integration)}</h1>
        <p class="lede">
          It is shown this once: copy it now, and set it at {provider}. The old one is taken for another 24
          hours.
        </p>
        <div class="card pad">
          <p class="label">Secret</p>
          <ToCopy text={rotated.secret} label="Copy the secret" />
        </div>
        <a class="button go" href={`${base}/integrations/${integration.id}`}>
          I have set it at {provider}
        </a>
      </>,
      { section: 'integrations' },
    );
  }),

  post(`${PATH}/disconnect`, 'owner', async (visit) => {
    const integration = await requireIntegration(visit);
    await deleteIntegration(visit.deps.db, integration.id);
    return redirect(`${visit.base}/integrations`, `${integrationName(integration)} is disconnected.`);
  }),
];

/** What can be changed of an integration, by owners. */
export function Changes({ integration, base }: { integration: Integration; base: string }) {
  const path = `${base}/integrations/${integration.id}`;
  const provider = providerNames[integration.type];
  return (
    <section aria-labelledby="changes">
      <h2 id="changes">Change it</h2>
      <div class="bar">
        {integration.enabled ? (
          <Action to={`${path}/disable`} label="Disable" />
        ) : (
          <Action to={`${path}/enable`} label="Enable" kind="go" />
        )}
        <span class="dim">
          {integration.enabled
            ? 'Disabled, it refuses deliveries until it is enabled again.'
            : 'Deliveries are refused now.'}
        </span>
      </div>
      <details class="danger">
        <summary>Rotate the secret</summary>
        <p>
          Makes a new secret. Deliveries signed with the present one are taken for another 24 hours: set the
          new one at {provider} before then.
        </p>
        <Action to={`${path}/secret`} label="Make a new secret" kind="bad" isOnce />
      </details>
      <details class="danger">
        <summary>Disconnect</summary>
        <p>
          Removes {integrationName(integration)} for good, with its triggers and what they still had to do.
          What {provider} sends from then on is refused. Posts stay, and so does the log.
        </p>
        <Action to={`${path}/disconnect`} label={`Disconnect ${integrationName(integration)}`} kind="bad" />
      </details>
    </section>
  );
}

/** @jsxRuntime automatic @jsxImportSource preact */

import { setEnabled } from '../../../integrations/connect.ts';
import { type Integration, providerNames } from '../../../integrations/model.ts';
import { disconnectIntegration } from '../../../integrations/places.ts';
import { rotateSecret } from '../../../integrations/rotate.ts';
import { describeOldSecret } from '../../../integrations/words.ts';
import { once } from '../../once.ts';
import { type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { ToCopy } from '../../view/copy.tsx';
import { integrationName } from '../deliveries/rows.tsx';
import { requireIntegration } from './find.ts';
import { showIntegration } from './one.tsx';
import { problemOf } from './words.ts';

const PATH = '/dashboard/:organizationId/integrations/:integrationId';

export const changeIntegration: readonly Page[] = [
  ...(['enable', 'disable'] as const).map((name) =>
    post(`${PATH}/${name}`, 'owner', async (visit) => {
      const { id } = await requireIntegration(visit);
      await setEnabled(visit.deps, id, name === 'enable');
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
    const { deps, form } = visit;
    try {
      // A reload must not rotate again: the receiver would then refuse the secret that the provider has.
      const now = form.get('now') === 'yes';
      const rotated = await once(deps.db, form.get('mark'), () =>
        rotateSecret(deps, integration.id, { now }),
      );
      return showRotated(visit, integration, rotated, now);
    } catch (error) {
      return showIntegration(visit, { about: 'secret', message: problemOf(error, integration.type) });
    }
  }),

  post(`${PATH}/disconnect`, 'owner', async (visit) => {
    const integration = await requireIntegration(visit);
    const { deps, form, base } = visit;
    try {
      const force = form.get('force') === 'yes';
      const { left } = await disconnectIntegration(deps, integration.id, { force });
      const rest = left.length === 0 ? '' : ` A webhook was left at ${left.join(', ')}: delete it there.`;
      return redirect(`${base}/integrations`, `${integrationName(integration)} is disconnected.${rest}`);
    } catch (error) {
      return showIntegration(visit, { about: 'disconnect', message: problemOf(error, integration.type) });
    }
  }),
];

/** Shows the new secret once, unless Tidings has set it at the provider. */
function showRotated(
  { base }: MemberVisit,
  integration: Integration,
  rotated: { secret: string; isSetAtProvider: boolean } | null,
  now: boolean,
) {
  const page = `${base}/integrations/${integration.id}`;
  const provider = providerNames[integration.type];
  if (rotated === null) {
    return redirect(
      page,
      integration.hasToken
        ? 'This form was sent before, and no other secret was made.'
        : 'This form was sent before, and no other secret was made. If you did not copy the one that it made, make a new one.',
    );
  }
  const old = describeOldSecret(integration.type, now, rotated.isSetAtProvider);
  // With an unreadable token, a person has to set it.
  if (rotated.isSetAtProvider) {
    return redirect(page, `A new secret was made and set at ${provider}. ${old}`);
  }
  return view(
    'A new secret',
    <>
      <h1>A new secret for {integrationName(integration)}</h1>
      <p class="lede">
        It is shown this once: copy it now, and set it at {provider}. {old}
      </p>
      <div class="card pad">
        <p class="label">Secret</p>
        <ToCopy text={rotated.secret} label="Copy the secret" />
      </div>
      <a class="button go" href={page}>
        I have set it at {provider}
      </a>
    </>,
    { section: 'integrations' },
  );
}

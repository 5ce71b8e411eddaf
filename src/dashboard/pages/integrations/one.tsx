/** @jsxRuntime automatic @jsxImportSource preact */

import { providerNames } from '../../../integrations/model.ts';
import { findTriggers } from '../../../triggers/service.ts';
import { listRuns } from '../../../triggers/store.ts';
import { get, type Page, view } from '../../page.ts';
import { Status } from '../../view/status.tsx';
import { When } from '../../view/when.tsx';
import { integrationName } from '../deliveries/rows.tsx';
import { TriggerList } from '../triggers/list.tsx';
import { Runs } from '../triggers/runs.tsx';
import { cardOf, Overview } from './card.tsx';
import { Changes } from './change.tsx';
import { requireIntegration } from './find.ts';
import { TestEvent } from './test-event.tsx';

/** One integration: how it does, what its triggers make, and what can be changed. */
export const integrationPage: Page = get(
  '/dashboard/:organizationId/integrations/:integrationId',
  'member',
  async (visit) => {
    const { deps, base, role } = visit;
    const integration = await requireIntegration(visit);
    const { id, type, enabled, createdAt } = integration;
    const triggers = await findTriggers(deps, { integrationId: id });
    const runs = await listRuns(deps.db, { integrationId: id });
    const now = deps.clock.now();
    const isOwner = role === 'owner';
    return view(
      integrationName(integration),
      <>
        <p class="crumbs">
          <a href={`${base}/integrations`}>Integrations</a>
        </p>
        <h1 class="any">{integrationName(integration)}</h1>
        <p class="bar">
          <Status status={enabled ? 'active' : 'disabled'} />
          <span class="dim">
            {providerNames[type]}, connected <When at={createdAt} now={now} />
          </span>
        </p>
        <div class="card pad">
          <Overview {...(await cardOf(visit, integration))} base={base} />
        </div>
        <Runs runs={runs} triggers={triggers} path={`${base}/integrations/${id}`} now={now} />
        <TriggerList integration={integration} triggers={triggers} base={base} isOwner={isOwner} />
        {isOwner ? (
          <>
            <TestEvent integration={integration} base={base} />
            <Changes integration={integration} base={base} />
          </>
        ) : (
          <p class="hint">Owners can send test events, make triggers, and change the integration.</p>
        )}
      </>,
      { section: 'integrations' },
    );
  },
);

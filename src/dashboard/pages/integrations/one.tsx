/** @jsxRuntime automatic @jsxImportSource preact */

import { listHooks } from '../../../integrations/hook-store.ts';
import { providerNames } from '../../../integrations/model.ts';
import { findTriggers } from '../../../triggers/service.ts';
import { listRuns } from '../../../triggers/store.ts';
import { get, type MemberVisit, type Page, type View, view } from '../../page.ts';
import { Status } from '../../view/status.tsx';
import { When } from '../../view/when.tsx';
import { integrationName } from '../deliveries/rows.tsx';
import { TriggerList } from '../triggers/list.tsx';
import { Runs } from '../triggers/runs.tsx';
import { cardOf, Overview } from './card.tsx';
import { Changes } from './changes.tsx';
import { requireIntegration } from './find.ts';
import { Hooks } from './hooks.tsx';
import { findPauses, PauseNote } from './pause.tsx';
import { TestEvent } from './test-event.tsx';

/** The error of one of the page's forms. */
export interface Problem {
  about: 'hooks' | 'secret' | 'disconnect';
  message: string;
  /** A place whose hook the provider did not delete. It can be removed nevertheless. */
  unremoved?: { place: string; name: string } | undefined;
}

export const integrationPage: Page = get(
  '/dashboard/:organizationId/integrations/:integrationId',
  'member',
  (visit) => showIntegration(visit),
);

/** One integration: how it does, what its triggers make, and what can be changed. */
export async function showIntegration(visit: MemberVisit, problem?: Problem): Promise<View> {
  const { deps, base, role } = visit;
  const integration = await requireIntegration(visit);
  const { id, type, enabled, createdAt } = integration;
  const triggers = await findTriggers(deps, { integrationId: id });
  const runs = await listRuns(deps.db, { integrationId: id });
  const hooks = await deps.db.read((tx) => listHooks(tx, id));
  const now = deps.clock.now();
  const isOwner = role === 'owner';
  const path = `${base}/integrations/${id}`;
  const pauses = await findPauses(deps, [integration]);
  const errorOf = (about: Problem['about']) => (problem?.about === about ? problem.message : undefined);
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
      <PauseNote pause={pauses.get(id)} to={`${path}/missed`} isOwner={isOwner} />
      <div class="card pad">
        <Overview {...(await cardOf(visit, integration))} base={base} />
      </div>
      <Runs runs={runs} triggers={triggers} path={path} now={now} />
      <Hooks
        integration={integration}
        hooks={hooks}
        base={base}
        now={now}
        isOwner={isOwner}
        error={errorOf('hooks')}
        unremoved={problem?.unremoved}
      />
      <TriggerList integration={integration} triggers={triggers} base={base} isOwner={isOwner} />
      {isOwner ? (
        <>
          <TestEvent integration={integration} base={base} />
          <Changes
            integration={integration}
            base={base}
            secretError={errorOf('secret')}
            disconnectError={errorOf('disconnect')}
          />
        </>
      ) : (
        <p class="hint">Owners can send test events, make triggers, and change the integration.</p>
      )}
    </>,
    { section: 'integrations', ...(problem === undefined ? {} : { status: 400 }) },
  );
}

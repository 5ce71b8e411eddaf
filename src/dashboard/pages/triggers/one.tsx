/** @jsxRuntime automatic @jsxImportSource preact */
import { type Integration, integrationName } from '../../../integrations/model.ts';
import type { Trigger } from '../../../triggers/model.ts';
import { listRuns } from '../../../triggers/store.ts';
import { get, type MemberVisit, type Page, type View, view } from '../../page.ts';
import { Status } from '../../view/status.tsx';
import { When } from '../../view/when.tsx';
import { EditTrigger, type RefusedChange, Templates } from './edit.tsx';
import { requireTrigger } from './find.ts';
import { Preview, preview } from './preview.tsx';
import { Rehearsal, rehearse } from './rehearsal.tsx';
import { Runs } from './runs.tsx';
import { Switches } from './switches.tsx';
import { eventWords, makes, whatOnly } from './words.ts';

/** One trigger: what it makes of what, and what it would have made. */
export const triggerPage: Page = get(
  '/dashboard/:organizationId/integrations/:integrationId/triggers/:triggerId',
  'member',
  (visit) => showTrigger(visit),
);

/** The page of a trigger; after a change that was refused, with what was typed. */
export async function showTrigger(visit: MemberVisit, refused?: RefusedChange): Promise<View> {
  const { deps, base, role, url } = visit;
  const { trigger, integration, path } = await requireTrigger(visit);
  const runs = await listRuns(deps.db, { integrationId: integration.id });
  const now = deps.clock.now();
  const previewed = await preview(visit, trigger);
  const rehearsed = url.searchParams.has('rehearse') ? await rehearse(deps, trigger.id) : null;
  const integrationPath = `${base}/integrations/${integration.id}`;
  return view(
    eventWords[trigger.event],
    <>
      <p class="crumbs">
        <a href={`${base}/integrations`}>Integrations</a> /{' '}
        <a href={integrationPath}>{integrationName(integration)}</a>
      </p>
      <h1>{eventWords[trigger.event]}</h1>
      <p class="bar">
        <Status status={trigger.enabled ? 'active' : 'disabled'} />
        <span class="dim">{makes(trigger)}</span>
      </p>
      <Runs
        runs={runs.filter(({ triggerId }) => triggerId === trigger.id)}
        triggers={[trigger]}
        path={integrationPath}
        now={now}
      />
      <Facts trigger={trigger} integration={integration} now={now} />
      {role === 'owner' ? (
        <EditTrigger trigger={trigger} path={path} refused={refused} />
      ) : (
        <Templates trigger={trigger} />
      )}
      <Preview previewed={previewed} path={path} integrationPath={integrationPath} now={now} />
      <Rehearsal rehearsed={rehearsed} path={path} now={now} />
      {role === 'owner' ? <Switches trigger={trigger} path={path} /> : null}
    </>,
    { section: 'integrations', ...(refused === undefined ? {} : { status: refused.error.status }) },
  );
}

function Facts({ trigger, integration, now }: { trigger: Trigger; integration: Integration; now: Date }) {
  const { id, repositoryId, createdAt } = trigger;
  const repository = integration.repositories.find((each) => each.id === repositoryId);
  return (
    <dl class="facts card">
      <dt>Of</dt>
      <dd>{repository?.fullName ?? integrationName(integration)}</dd>
      <dt>Only</dt>
      <dd>{whatOnly(trigger)}</dd>
      <dt>Made</dt>
      <dd>
        <When at={createdAt} now={now} />
      </dd>
      <dt>Trigger</dt>
      <dd>
        <code>{id}</code>
      </dd>
    </dl>
  );
}

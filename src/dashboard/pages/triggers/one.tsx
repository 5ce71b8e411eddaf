/** @jsxRuntime automatic @jsxImportSource preact */
import { builtInTemplates } from '../../../drafts/built-in.ts';
import type { Integration } from '../../../integrations/model.ts';
import type { Trigger } from '../../../triggers/model.ts';
import { listRuns } from '../../../triggers/store.ts';
import { describeFilters } from '../../../triggers/words.ts';
import { get, type Page, view } from '../../page.ts';
import { Status } from '../../view/status.tsx';
import { When } from '../../view/when.tsx';
import { integrationName } from '../deliveries/rows.tsx';
import { Changes } from './change.tsx';
import { requireTrigger } from './find.ts';
import { Rehearsal, rehearse } from './rehearsal.tsx';
import { Runs } from './runs.tsx';
import { eventWords, makes } from './words.ts';

/** One trigger: what it makes of what, and what it would have made. */
export const triggerPage: Page = get(
  '/dashboard/:organizationId/integrations/:integrationId/triggers/:triggerId',
  'member',
  async (visit) => {
    const { deps, base, role, url } = visit;
    const { trigger, integration, path } = await requireTrigger(visit);
    const runs = await listRuns(deps.db, { integrationId: integration.id });
    const now = deps.clock.now();
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
        <Rehearsal rehearsed={rehearsed} path={path} now={now} />
        <Templates trigger={trigger} />
        {role === 'owner' ? <Changes trigger={trigger} path={path} /> : null}
      </>,
      { section: 'integrations' },
    );
  },
);

function Facts({ trigger, integration, now }: { trigger: Trigger; integration: Integration; now: Date }) {
  const { id, filters, repositoryId, createdAt } = trigger;
  const repository = integration.repositories.find((each) => each.id === repositoryId);
  return (
    <dl class="facts card">
      <dt>Of</dt>
      <dd>{repository?.fullName ?? integrationName(integration)}</dd>
      <dt>Only</dt>
      <dd>{Object.keys(filters).length === 0 ? 'no filter' : describeFilters(filters)}</dd>
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

function Templates({ trigger: { event, contentType, titleTemplate, bodyTemplate } }: { trigger: Trigger }) {
  const builtIn = builtInTemplates(event, contentType);
  return (
    <section aria-labelledby="templates">
      <h2 id="templates">Templates</h2>
      <p class="label">Title, {titleTemplate === null ? 'built in' : 'your own'}</p>
      <pre class="wrap">{titleTemplate ?? builtIn.title}</pre>
      <p class="label">Body, {bodyTemplate === null ? 'built in' : 'your own'}</p>
      <pre class="wrap">{bodyTemplate ?? builtIn.body}</pre>
    </section>
  );
}

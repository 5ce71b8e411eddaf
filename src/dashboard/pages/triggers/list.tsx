import { branchOf, repositoryOf } from '../../../drafting/triggers/kinds/branch.ts';
import { describeFilters, publishedWords, type Trigger } from '../../../drafting/triggers/model.ts';
import type { TriggerRun } from '../../../drafting/triggers/queue-store.ts';
import { type Integration, integrationName } from '../../../integrations/words.ts';
import type { Organization } from '../../../people/organizations.ts';
import { contentTypeRules } from '../../../posts/model.ts';
import type { EventType } from '../../../providers/events.ts';
import { type IntegrationType, providerOf } from '../../../providers/index.ts';
import { Link, Section, Status, useVisit, When } from '../../view/elements.tsx';
import { Action, Form, Select } from '../../view/form.tsx';
import { Table } from '../../view/list.tsx';
import { typeOptions } from '../posts/words.tsx';

// The triggers of an integration on its page, and their failed runs.

export const eventWords: Readonly<Record<EventType, string>> = {
  release: 'Published releases',
  push: 'Pushes to a branch',
  pull_request: 'Merged pull requests',
  issue: 'Completed issues',
  project: 'Completed projects',
  project_update: 'Project updates',
};

export const crumbsOf = (integration: Integration) => [
  { to: 'triggers', label: 'Triggers' },
  { to: `integrations/${integration.id}`, label: integrationName(integration) },
];

/** Such as "Changelog, as a draft". */
export const describePosts = (
  { contentType, publish }: Pick<Trigger, 'contentType' | 'publish'>,
  organization: Organization,
) => `${contentTypeRules[contentType].name}, ${publish ? publishedWords(organization) : 'as a draft'}`;

export function eventsOf(type: IntegrationType): EventType[] {
  return Object.keys(providerOf(type).triggerEvents) as EventType[];
}

export function TriggerList(props: { integration: Integration; triggers: readonly Trigger[] }) {
  const { triggers } = props;
  const { id, type } = props.integration;
  const { base, isOwner, organization } = useVisit();
  const path = `${base}/integrations/${id}/triggers`;
  return (
    <Section id="triggers" title="Triggers">
      {triggers.length === 0 ? (
        <p class="hint">
          A trigger turns events into posts. Without triggers, deliveries only appear in the log.
        </p>
      ) : (
        <Table
          caption="Triggers, oldest first"
          rows={triggers}
          columns={[
            {
              title: 'Events',
              class: 'title',
              cell: ({ id, event }) => <a href={`${path}/${id}`}>{eventWords[event]}</a>,
            },
            { title: 'Posts', cell: (trigger) => describePosts(trigger, organization) },
            {
              title: 'Filters',
              isLabeled: true,
              class: 'dim',
              cell: ({ filters }) => describeFilters(filters),
            },
            { title: 'Status', cell: ({ enabled }) => <Status status={enabled ? 'active' : 'disabled'} /> },
          ]}
        />
      )}
      {isOwner ? (
        <Form isGet to={`${path}/new`} button="Add trigger" kind="" layout="bar ends">
          <Select
            label="Create posts from"
            name="event"
            options={eventsOf(type).map((event) => ({ value: event, label: eventWords[event] }))}
          />
          <Select label="Post type" name="contentType" options={typeOptions} />
        </Form>
      ) : null}
    </Section>
  );
}

const MAX_SHOWN = 20;

interface RunsProps {
  runs: readonly TriggerRun[];
  triggers: readonly Trigger[];
  path: string;
  /** Of the only trigger. Absent: the runs of all. */
  triggerId?: string;
}

const isFailing = ({ error }: TriggerRun) => error !== null;

/** The section of failing runs, which the script of deliveries replaces while they are retried. Null without any. */
export function Runs(props: RunsProps) {
  return props.runs.some(isFailing) ? <RunsSection {...props} /> : null;
}

/** Says so when none is left: the page showed some before. */
export function RunsSection({ runs, triggers, path, triggerId }: RunsProps) {
  const failing = runs.filter(isFailing);
  const isRetried = failing.some(({ status }) => status === 'queued');
  const events = new Map(triggers.map(({ id, event }) => [id, eventWords[event]]));
  return (
    <section
      aria-labelledby="failing"
      data-result={`${path}/runs${triggerId === undefined ? '' : `?trigger=${triggerId}`}`}
      data-pending={isRetried ? '' : undefined}
    >
      <h2 id="failing">Failed runs</h2>
      <div role="status">
        {failing.length === 0 && (
          <p>
            <Status status="processed" /> No failed runs are left.{' '}
            <Link to="posts?status=draft">Open drafts</Link>
          </p>
        )}
        {failing
          .slice(0, MAX_SHOWN)
          .map(({ triggerId, scope, status, attempts, error, deliveryId, queuedAt, nextAttemptAt }) => (
            <div class="card pad">
              <div class="bar">
                {status === 'failed' ? (
                  <Status status="failed" more=", given up" />
                ) : (
                  <span class="tag rejected">Retrying soon</span>
                )}
                <a href={`${path}/triggers/${triggerId}`}>{events.get(triggerId)}</a>
                <span class="dim">
                  {attempts > 0 && `tried ${attempts === 1 ? 'once' : `${attempts} times`}, `}
                  queued <When at={queuedAt} />
                  {nextAttemptAt && (
                    <>
                      , next retry <When at={nextAttemptAt} />
                    </>
                  )}
                </span>
              </div>
              <p class="error reason">{error}</p>
              <p class="hint">
                {repositoryOf(scope) !== null && (
                  <>
                    Branch <code>{branchOf(scope)}</code>,{' '}
                  </>
                )}
                after delivery <code>{deliveryId}</code>
              </p>
              {status === 'failed' && (
                <div class="bar after">
                  <Action to={`${path}/triggers/${triggerId}/retry`} label="Retry" />
                </div>
              )}
            </div>
          ))}
        {failing.length > MAX_SHOWN && <p class="hint">…and {failing.length - MAX_SHOWN} more.</p>}
      </div>
      {isRetried && (
        <noscript>
          <p class="hint">
            <a href={triggerId === undefined ? path : `${path}/triggers/${triggerId}`}>Reload</a> to see
            whether they succeeded.
          </p>
        </noscript>
      )}
    </section>
  );
}

import type { ReadTx } from '../../../../db/engine.ts';
import { findLastPost } from '../../../drafting/store.ts';
import {
  describeFilters,
  kinds,
  listTriggers,
  publishedWords,
  type Trigger,
} from '../../../drafting/triggers/model.ts';
import { listRuns, type TriggerRun } from '../../../drafting/triggers/queue-store.ts';
import { type Integration, listHistoryOnly, listIntegrations } from '../../../integrations/store.ts';
import { integrationName, sourceName } from '../../../integrations/words.ts';
import { cutLine } from '../../../lib/text.ts';
import { type ContentType, contentTypeRules, DEFAULT_CONTENT_TYPE } from '../../../posts/model.ts';
import type { EventType } from '../../../providers/events.ts';
import { get, type MemberVisit, type Page, redirect, view } from '../../page.ts';
import { Link, LinkButton, Section, Status, useVisit, When } from '../../view/elements.tsx';
import { Form, Select } from '../../view/form.tsx';
import { Empty, NumberedPager, pageIn } from '../../view/list.tsx';
import { typeOptions } from '../posts/words.tsx';
import { eventsOf } from './list.tsx';
import { Roundups, readRoundups } from './roundups.tsx';

const PATH = '/dashboard/:organizationId/triggers';
const PER_PAGE = 25;
/** The integrations that the form offers; the page of any other one has a form of its own. */
const MAX_OFFERED = 20;

/** Completes "When acme/rocket …". */
const happenings: Readonly<Record<EventType, string>> = {
  release: 'publishes a release',
  push: 'receives a push',
  pull_request: 'merges a pull request',
  issue: 'completes an issue',
  project: 'completes a project',
  project_update: 'posts a project update',
};

const nounOf = (type: ContentType) =>
  contentTypeRules[type].name.replace(/^[A-Z](?![a-z]*[A-Z])/, (letter) => letter.toLowerCase());

interface Row {
  trigger: Trigger;
  integration: Integration;
  last: Awaited<ReturnType<typeof findLastPost>>;
  failing: TriggerRun | undefined;
  isHistoryOnly: boolean;
}

async function readRows(tx: ReadTx, organizationId: string, page: number) {
  const integrations = await listIntegrations(tx, organizationId);
  const triggers = await listTriggers(tx, { organizationId });
  const start = (page - 1) * PER_PAGE;
  const listed = triggers.slice(start, start + PER_PAGE);
  const failing = (await listRuns(tx, { organizationId })).filter(({ error }) => error !== null);
  const used = integrations.filter(({ id }) => listed.some(({ integrationId }) => integrationId === id));
  const historyOnly = await listHistoryOnly(tx, used);
  const rows: Row[] = [];
  for (const trigger of listed) {
    const integration = used.find(({ id }) => id === trigger.integrationId);
    if (integration === undefined) continue;
    rows.push({
      trigger,
      integration,
      last: await findLastPost(tx, trigger.id),
      failing: failing.find(({ triggerId }) => triggerId === trigger.id),
      isHistoryOnly: historyOnly.has(integration.id),
    });
  }
  return { integrations, rows, hasMore: triggers.length > start + PER_PAGE };
}

/** "When acme/rocket publishes a release → a changelog draft", as a link to the trigger. */
export function Sentence({ trigger, integration }: Pick<Row, 'trigger' | 'integration'>) {
  const { event, contentType, publish, repositoryId } = trigger;
  const { base, organization } = useVisit();
  const noun = nounOf(contentType);
  const type = <strong>{noun}</strong>;
  return (
    <a href={`${base}/integrations/${integration.id}/triggers/${trigger.id}`}>
      When <strong>{sourceName(integration, repositoryId)}</strong> {happenings[event]} →{' '}
      {kinds[event].isRolling ? (
        <>an entry in the open {type} draft</>
      ) : (
        <>
          a {type}
          {publish ? `${noun.endsWith('post') ? '' : ' post'}, ${publishedWords(organization)}` : ' draft'}
        </>
      )}
    </a>
  );
}

function State({ trigger, failing, isHistoryOnly }: Row) {
  if (!trigger.enabled) return <Status status="disabled" />;
  if (isHistoryOnly) return <span class="tag soon">Not connected</span>;
  return <Status status={failing === undefined ? 'active' : 'failing'} />;
}

/** Says why the next event has no result, or how far the last run came. */
function Note({ trigger, integration, failing, isHistoryOnly }: Row) {
  const { isOwner } = useVisit();
  const page = `integrations/${integration.id}`;
  if (!trigger.enabled) {
    return (
      <p class="dim">New events create nothing until {isOwner ? 'you enable' : 'an owner enables'} it.</p>
    );
  }
  if (isHistoryOnly) {
    return (
      <p class="error">
        New events do not arrive yet: only past releases were imported. <Link to={page}>Connect it</Link>
      </p>
    );
  }
  if (!integration.enabled) {
    return (
      <p class="error">
        The integration is disabled, so new events do not arrive. <Link to={page}>Open integration</Link>
      </p>
    );
  }
  if (failing === undefined) return null;
  return (
    <p class="error">
      The last run failed: {failing.error}.{' '}
      {failing.nextAttemptAt === null ? (
        'Tidings stopped retrying it.'
      ) : (
        <>
          Next retry <When at={failing.nextAttemptAt} />.
        </>
      )}
    </p>
  );
}

function TriggerItem(row: Row) {
  const { trigger, last } = row;
  const filters = describeFilters(trigger.filters);
  return (
    <li>
      <div class="rule-line">
        <h2>
          <Sentence {...row} />
        </h2>
        <State {...row} />
      </div>
      {filters !== '–' && <p class="dim">Only: {filters}</p>}
      <Note {...row} />
      <p class="dim">
        {last === null ? (
          'No post yet.'
        ) : (
          <>
            Last {last.status === 'draft' ? 'draft' : 'post'}:{' '}
            <Link to={`posts/${last.id}`}>{last.title}</Link>, <When at={last.createdAt} />
          </>
        )}
      </p>
    </li>
  );
}

function AddTrigger({ integrations }: { integrations: readonly Integration[] }) {
  const options = integrations.slice(0, MAX_OFFERED).flatMap((integration) =>
    eventsOf(integration.type).map((event) => ({
      value: `${integration.id} ${event}`,
      label: `${nameOf(integration)} ${happenings[event]}`,
    })),
  );
  return (
    <Section id="new" title="New trigger">
      <Form isGet to="triggers/new" button="Add trigger" kind="" layout="bar ends">
        <Select label="When" name="when" options={options} />
        <Select label="Create a" name="contentType" options={typeOptions} />
      </Form>
      {integrations.length > MAX_OFFERED && (
        <p class="hint">
          For another repository, open it in <Link to="integrations">Integrations</Link>.
        </p>
      )}
    </Section>
  );
}

const MAX_NAME_LENGTH = 60;

/** A name that fits an option: an integration may have many repositories. */
function nameOf(integration: Integration): string {
  const name = integrationName(integration);
  const [first] = integration.repositories;
  if (name.length <= MAX_NAME_LENGTH || first === undefined) return name;
  const others = integration.repositories.length - 1;
  return others === 0
    ? cutLine(name, MAX_NAME_LENGTH)
    : `${cutLine(first.fullName, MAX_NAME_LENGTH)} and ${others} more`;
}

function NoTriggers({ integrations }: { integrations: readonly Integration[] }) {
  const { isOwner, organization } = useVisit();
  const [first] = integrations;
  const [event] = first === undefined ? [] : eventsOf(first.type);
  return (
    <Empty drawing="deliveries">
      <p>
        A trigger turns an event, such as a release, into a draft for you to review. Without triggers, events
        only appear under Deliveries.
      </p>
      {!isOwner ? (
        <p>Ask an owner of {organization.name} to create the first one.</p>
      ) : first === undefined || event === undefined ? (
        <LinkButton to="integrations" label="Connect a repository first" kind="go" />
      ) : (
        <>
          <p>
            Start with this one: when <strong>{nameOf(first)}</strong> {happenings[event]}, create a{' '}
            <strong>{nounOf(DEFAULT_CONTENT_TYPE)}</strong> draft.
          </p>
          <LinkButton
            to={`integrations/${first.id}/triggers/new?event=${event}&contentType=${DEFAULT_CONTENT_TYPE}`}
            label="Create first trigger"
            kind="go"
          />
        </>
      )}
    </Empty>
  );
}

async function showTriggers({ deps, organization, url, isOwner }: MemberVisit) {
  const page = pageIn(url.searchParams);
  const { integrations, rows, hasMore, ...listed } = await deps.db.read(async (tx) => ({
    ...(await readRows(tx, organization.id, page)),
    ...(await readRoundups(tx, organization.id)),
  }));
  return view(
    {
      title: 'Triggers',
      facts: 'What happens on the next event. You review each draft before it is public.',
      actions: <LinkButton to="triggers/request" label="Preview a pull request" />,
    },
    rows.length === 0 && page === 1 ? (
      <NoTriggers integrations={integrations} />
    ) : (
      <ul class="card triggers">
        {rows.map((row) => (
          <TriggerItem {...row} />
        ))}
      </ul>
    ),
    <NumberedPager page={page} hasMore={hasMore} path="triggers" />,
    isOwner && integrations.length > 0 && <AddTrigger integrations={integrations} />,
    (integrations.length > 0 || listed.roundups.length > 0) && (
      <Roundups {...listed} {...{ integrations, nounOf }} />
    ),
  );
}

export const routes: readonly Page[] = [
  get(PATH, 'member', showTriggers),

  get(`${PATH}/new`, 'owner', async ({ url: { searchParams } }) => {
    const [integrationId = '', event = ''] = (searchParams.get('when') ?? '').split(' ');
    if (integrationId === '') return redirect('triggers#new');
    const chosen = new URLSearchParams({ event, contentType: searchParams.get('contentType') ?? '' });
    return redirect(`integrations/${encodeURIComponent(integrationId)}/triggers/new?${chosen}`);
  }),
];

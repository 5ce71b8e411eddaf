import type { ReadTx } from '../../../../db/engine.ts';
import {
  countDays,
  type DayCounts,
  findLastDeliveryTime,
} from '../../../integrations/deliveries/count-store.ts';
import { deliveryStatuses } from '../../../integrations/deliveries/store.ts';
import {
  describePollInterval,
  isPolledByTheMinute,
  listPolls,
  listSharing,
} from '../../../integrations/poll-store.ts';
import { type Integration, listHistoryOnly } from '../../../integrations/store.ts';
import { webhookUrl } from '../../../integrations/words.ts';
import { isLocal } from '../../../lib/public-fetch.ts';
import type { IntegrationType } from '../../../providers/ids.ts';
import { providerOf } from '../../../providers/index.ts';
import type { Provider } from '../../../providers/provider.ts';
import type { MemberVisit } from '../../page.ts';
import { Bars } from '../../view/chart.tsx';
import {
  capitalized,
  counted,
  Link,
  LinkButton,
  More,
  Section,
  ToCopy,
  useVisit,
  When,
} from '../../view/elements.tsx';
import { Action, Field, Form, FormError, fieldProblem } from '../../view/form.tsx';
import { Table } from '../../view/list.tsx';
import { TOKEN_FIELD } from './subpage.tsx';
import { type PageProps, tokenLabel } from './webhooks.tsx';

// What an integration delivered lately, and where to.

export async function readOverview(tx: ReadTx, integration: Integration, now: Date) {
  const last = await findLastDeliveryTime(tx, integration.id);
  return {
    integration,
    days: await countDays(tx, integration, now, 30),
    last,
    isHistoryOnly: last === null && (await listHistoryOnly(tx, [integration])).has(integration.id),
  };
}

/** The picture of recent deliveries, and the webhook URLs. */
export function Overview({
  integration,
  days,
  last,
  isHistoryOnly,
}: Awaited<ReturnType<typeof readOverview>>) {
  const { deps } = useVisit();
  const { id, repositories, isManaged, isPolled, app } = integration;
  const words = describeDays(days);
  const columns = days.map((each) => ({
    name: dayName.format(new Date(each.day)),
    parts: countByStatus([each]),
  }));
  // With a token, nobody needs to paste them. A long list is folded too.
  const isOpen = !isManaged && !isPolled && !isHistoryOnly && repositories.length <= 3;
  const own = repositories.length === 0 || app !== null ? [undefined] : repositories;
  const urls = own.map((repository) => (
    <>
      {own.length > 1 && <p class="label">Webhook URL of {repository?.fullName}</p>}
      <ToCopy text={webhookUrl(deps.publicUrl(), integration, repository?.id)} />
    </>
  ));
  return (
    <>
      <Bars columns={columns} label={words} />
      <p class="hint">
        {words}.{' '}
        {last === null ? (
          isHistoryOnly ? (
            'Not connected: only past releases were imported.'
          ) : isPolled ? (
            'Waiting for the first event.'
          ) : (
            'Waiting for the first delivery.'
          )
        ) : (
          <>
            Last delivery <When at={last} />. <Link to={`deliveries?integration=${id}`}>View all</Link>
          </>
        )}
      </p>
      <More label={urls.length === 1 ? 'Webhook URL' : counted(urls.length, 'webhook URL')} isOpen={isOpen}>
        {urls}
      </More>
    </>
  );
}

/** Days are counted in UTC. */
const dayName = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

/** The statuses that occur, each with its number of deliveries. */
function countByStatus(days: readonly DayCounts[]): [status: string, entries: number][] {
  return deliveryStatuses
    .map((status): [string, number] => [status, sum(days.map(({ counts }) => counts[status] ?? 0))])
    .filter(([, entries]) => entries > 0);
}

/** Such as "412 deliveries in 30 days: 400 processed, 12 ignored". */
function describeDays(days: readonly DayCounts[]): string {
  const counts = countByStatus(days);
  if (counts.length === 0) return `No deliveries in ${days.length} days`;
  const total = counted(sum(counts.map(([, entries]) => entries)), 'delivery', 'deliveries');
  const parts = counts.map(([status, entries]) => `${entries.toLocaleString('en')} ${status}`);
  return `${total} in ${days.length} days: ${parts.join(', ')}`;
}

// The parts of other pages that show polling.

export const POLLED_FIELD = 'polled';

/** Of a part of a provider's card. */
export interface ConnectProps {
  provider: Provider<IntegrationType>;
  isMain: boolean;
  /** Shows the suggested form. Elsewhere it is folded, so that the page is short. */
  isOpen: boolean;
}

/** The part of a provider's card that connects by polling. `error`: null unless this form failed. */
export function PollPart({ provider, error, isMain, isOpen }: ConnectProps & { error: string | null }) {
  const { deps, form } = useVisit();
  const { id: type, name, reader, words } = provider;
  if (reader === null) return null;
  const isSuggested = isLocal(deps.publicUrl());
  const { one, many, pattern } = words.place;
  const isFast = isPolledByTheMinute(type);
  const id = `field-poll-${type}`;
  return (
    <More label="Polling (no public URL needed)" isOpen={isOpen || error !== null}>
      <p class="hint">
        Tidings asks {name} for what is new.
        {isSuggested ? ` Suggested here, because ${name} can't reach this server.` : ''}
      </p>
      <Form
        to={`integrations/${type}/poll`}
        problem={fieldProblem(id, error)}
        button={`Poll ${many}`}
        kind={isMain ? 'go' : ''}
        busy={`Reading ${many}…`}
        isOnce
      >
        <Field
          label={capitalized(many)}
          name={POLLED_FIELD}
          id={id}
          value={error === null ? '' : (form.get(POLLED_FIELD) ?? '')}
          hint={`Each as ${pattern} or URL, separated by spaces.`}
          error={error}
        />
        <Field
          label="Token (optional)"
          name={TOKEN_FIELD}
          id={`field-poll-token-${type}`}
          type="password"
          required={false}
          hint={
            isFast
              ? `Needed only for a private ${one}${reader.access === undefined ? '' : `, with ${reader.access}`}. It is kept encrypted.`
              : `Without one, ${name} answers ${reader.anonymousPerHour?.toLocaleString('en')} requests an hour, and only about public ${words.place.many}. ${reader.access === undefined ? '' : `A token needs ${reader.access}. `}It is kept encrypted.`
          }
        />
      </Form>
    </More>
  );
}

export async function readPolling(deps: MemberVisit['deps'], integration: Integration) {
  return deps.db.read(async (tx) => ({
    polls: await listPolls(tx, integration.id),
    sharing: (await listSharing(tx, integration)).length,
  }));
}

type PolledProps = PageProps & Awaited<ReturnType<typeof readPolling>> & { error: string | undefined };

/** The state of polling, on the page of an integration. */
export function PollingSection(props: PolledProps) {
  const { integration, polls, sharing, path, error } = props;
  const { type, enabled, hasToken } = integration;
  const { now, isOwner } = useVisit();
  const { name, words } = providerOf(type);
  const { one } = words.place;
  const isSwitching = polls.some(({ cursor }) => cursor?.webhookSince);
  const budget = polls.map(({ cursor }) => cursor?.budget).find((each) => each != null);
  return (
    <Section id="polling" title="Polling">
      <FormError error={error} />
      <p class="hint">{describePollInterval(integration, sharing)}</p>
      {isSwitching && (
        <p class="note">
          A webhook takes over. Tidings polls until its first delivery has arrived, and once more.
        </p>
      )}
      <Table
        caption={`Polling, by ${one}`}
        rows={polls}
        columns={[
          { title: 'Where', cell: ({ fullName }) => fullName },
          {
            title: 'State',
            cell: ({ problem, attempts }) =>
              problem === null ? (
                <span class="tag active">OK</span>
              ) : (
                <>
                  <span class={`tag ${attempts > 0 ? 'failed' : 'soon'}`}>
                    {attempts > 0 ? 'Problem' : 'Paused'}
                  </span>
                  <div class="reason">{problem}</div>
                </>
              ),
          },
          {
            title: 'Last poll',
            isLabeled: true,
            class: 'dim',
            cell: ({ polledAt }) => (polledAt === null ? 'None yet' : <When at={polledAt} />),
          },
          {
            title: 'Next poll',
            isLabeled: true,
            class: 'dim',
            cell: ({ dueAt }) =>
              !enabled ? (
                'Disabled'
              ) : dueAt <= now.getTime() ? (
                'In a moment'
              ) : (
                <When at={new Date(dueAt).toISOString()} />
              ),
          },
        ]}
      />
      {budget !== undefined && (
        <p class="hint">
          {budget.remaining.toLocaleString('en')} of {counted(budget.limit, 'request')} left at {name}
          {budget.resetAt === null ? '.' : <>; the limit resets {<When at={budget.resetAt} />}.</>}
        </p>
      )}
      {isOwner ? (
        <div class="bar">
          <Action to={`${path}/poll`} label="Poll now" busy="Polling…" isOnce />
          <LinkButton to={`${path}/webhook`} label="Use a webhook" />
          {isSwitching && <LinkButton to={`${path}/polling`} label="Keep polling" />}
          <LinkButton to={`${path}/check`} label="Check integration" />
          <LinkButton to={`${path}/add`} label={`Add ${one}`} />
          <LinkButton to={`${path}/token`} label={tokenLabel(hasToken)} />
        </div>
      ) : null}
    </Section>
  );
}

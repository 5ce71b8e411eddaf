import type { ReadTx } from '../../../../db/engine.ts';
import { readDays } from '../../../drafting/triggers/results-store.ts';
import { findLastDeliveryTime } from '../../../integrations/deliveries/count-store.ts';
import { type Integration, listHistoryOnly } from '../../../integrations/store.ts';
import { findPause, type Pause } from '../../../integrations/uptime.ts';
import { describeLocalAddress, webhookUrl } from '../../../integrations/words.ts';
import { tidings } from '../../../lib/build.ts';
import { DAY_MS, span } from '../../../lib/time.ts';
import type { AttentionItem } from '../../../people/attention.ts';
import type { Deps } from '../../../people/deps.ts';
import type { IntegrationType } from '../../../providers/ids.ts';
import { providerOf } from '../../../providers/index.ts';
import { Chart, describeDays, hasDeliveries } from '../../view/chart.tsx';
import {
  Clock,
  counted,
  Link,
  LinkButton,
  More,
  Status,
  ToCopy,
  useVisit,
  When,
} from '../../view/elements.tsx';

// The latest deliveries of an integration, their address, and what may be wrong with them.

const DAYS = 30;

export async function readOverview(tx: ReadTx, integration: Integration, now: Date) {
  const last = await findLastDeliveryTime(tx, integration.id);
  return {
    integration,
    days: await readDays(tx, integration, now, DAYS),
    last,
    isHistoryOnly: last === null && (await listHistoryOnly(tx, [integration])).has(integration.id),
  };
}

type OverviewProps = Awaited<ReturnType<typeof readOverview>>;

export function Overview({ integration, days, last, isHistoryOnly }: OverviewProps) {
  const { deps } = useVisit();
  const { id, repositories, isManaged, isPolled, app } = integration;
  const words = describeDays(days);
  // With a token, nobody needs to paste them. A long list is folded too.
  const isOpen = !isManaged && !isPolled && !isHistoryOnly && repositories.length <= 3;
  const own = repositories.length === 0 || app !== null ? [undefined] : repositories;
  return (
    <>
      {hasDeliveries(days) && <Chart days={days} label={words} />}
      <p class="hint">
        {words}.{' '}
        {last !== null ? (
          <>
            Last delivery <When at={last} />. <Link to={`deliveries?integration=${id}`}>View all</Link>
          </>
        ) : isHistoryOnly ? (
          'Not connected: only past releases were imported.'
        ) : isPolled ? (
          'Waiting for the first event.'
        ) : (
          'Waiting for the first delivery.'
        )}
      </p>
      <More label={own.length === 1 ? 'Webhook URL' : counted(own.length, 'webhook URL')} isOpen={isOpen}>
        {own.map((repository) => (
          <>
            {own.length > 1 && <p class="label">Webhook URL of {repository?.fullName}</p>}
            <ToCopy text={webhookUrl(deps.publicUrl(), integration, repository?.id)} />
          </>
        ))}
      </More>
    </>
  );
}

/** Warns of webhook URLs that a provider cannot reach. `pollFor`: the organization for which to offer polling instead. */
export function LocalAddressNote(props: { url: string; type?: IntegrationType; pollFor?: string }) {
  const { url, type, pollFor } = props;
  const text = describeLocalAddress(type ?? null, url);
  return text === null ? null : (
    <div class="note">
      <p>{text}</p>
      {type !== undefined && pollFor !== undefined && (
        <>
          <p>Without one, Tidings can ask {providerOf(type).name} for new events instead:</p>
          <ToCopy
            text={`${tidings} integration connect ${type} --organization ${pollFor} --repository OWNER/NAME --poll`}
            label="Copy command"
          />
        </>
      )}
    </div>
  );
}

/** How long a pause matters where the provider does not say how long it keeps deliveries, in milliseconds. */
const PAUSE_MS = 3 * DAY_MS;

/** The newest pause of the server, for an integration without the token to request again what it missed. */
export async function findMissedPause(
  deps: Pick<Deps, 'db' | 'clock'>,
  { type, isManaged, isPolled, createdAt }: Integration,
): Promise<Pause | null> {
  const { api } = providerOf(type);
  if (isManaged || isPolled || api === null) return null;
  const oldest = new Date(deps.clock.now().getTime() - (api.redelivery?.keptMs ?? PAUSE_MS)).toISOString();
  const pause = await findPause(deps, oldest);
  return pause !== null && pause.to > createdAt ? pause : null;
}

/** Warns that deliveries may be missing, and says what brings them back. */
export function PauseNote({ pause, type, to }: { pause: Pause; type: IntegrationType; to: string }) {
  const { isOwner } = useVisit();
  const { name, api, words } = providerOf(type);
  const kept = api?.redelivery?.keptMs;
  return (
    <div class="note">
      <p>
        Tidings was not running from <Clock at={pause.from} /> to <Clock at={pause.to} />. Deliveries from
        that time may be missing. Without a token, Tidings can't bring them back.{' '}
        {kept === undefined
          ? words.redelivery
          : `${name} keeps deliveries for ${span(kept)}: redeliver them in the settings of the webhook.`}
      </p>
      <p>
        {isOwner ? (
          <LinkButton to={to} label="Add token" />
        ) : (
          <span class="dim">Owners can add a token.</span>
        )}
      </p>
    </div>
  );
}

export const troublesOf = (attention: readonly AttentionItem[], id: string): AttentionItem[] =>
  attention.filter(({ path }) => path?.replace(/#.*/, '') === `integrations/${id}`);

export function State(props: {
  troubles: readonly AttentionItem[];
  isEnabled: boolean;
  isHistoryOnly: boolean;
}) {
  const { troubles, isEnabled, isHistoryOnly } = props;
  if (troubles.length > 0) return <span class="tag failed">Needs attention</span>;
  if (isHistoryOnly) return <span class="tag soon">Not connected</span>;
  return <Status status={isEnabled ? 'active' : 'disabled'} />;
}

export const Troubles = ({ troubles }: { troubles: readonly AttentionItem[] }) => (
  <>
    {troubles.map(({ message }) => (
      <p class="error">{message}.</p>
    ))}
  </>
);

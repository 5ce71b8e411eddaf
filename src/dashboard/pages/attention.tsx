import { Type } from '@sinclair/typebox';
import type { AppError } from '../../lib/app-error.ts';
import { tidings } from '../../lib/build.ts';
import { DAY_MS } from '../../lib/time.ts';
import {
  type AttentionItem,
  type AttentionKind,
  isMuted,
  listAttention,
  muteAttention,
  shownTo,
} from '../../people/attention.ts';
import { endNotices } from '../../readers/hooks/notices.ts';
import { get, type MemberVisit, type Page, redirect, type View, view } from '../page.ts';
import { postForm } from '../submission.ts';
import { Link, LinkButton, useVisit, When } from '../view/elements.tsx';
import { Action, FormError } from '../view/form.tsx';
import { Empty } from '../view/list.tsx';

const PATH = '/dashboard/:organizationId/attention';

const MuteForm = Type.Object({
  id: Type.String(),
  days: Type.Union(['0', '1', '7'].map((days) => Type.Literal(days))),
});

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => showAttention(visit)),

  // No days: no longer.
  postForm(`${PATH}/mute`, 'publisher', MuteForm, showAttention, async (visit, { id, days: chosen }) => {
    const { deps } = visit;
    const days = Number(chosen);
    const until = days === 0 ? null : new Date(deps.clock.now().getTime() + days * DAY_MS).toISOString();
    await muteAttention(deps.db, shownTo(visit), id, until, endNotices);
    return redirect('attention', days === 0 ? 'No longer muted.' : 'Muted.');
  }),
];

async function showAttention(visit: MemberVisit, error?: AppError): Promise<View> {
  const items = await visit.deps.db.read((tx) => listAttention(tx, shownTo(visit)));
  const now = visit.deps.clock.now();
  const muted = items.filter((item) => isMuted(item, now));
  const heard = items.filter((item) => !isMuted(item, now));
  return view(
    {
      title: 'Attention',
      facts:
        'Problems that need a person. Tidings checks every five seconds, and clears an item once its cause is gone.',
      error,
    },
    error && <FormError error={`${error.message}.`} />,
    heard.length === 0 && (
      <Empty drawing="deliveries">
        <p>Nothing needs you. Integrations, triggers, hooks, schedules and backups work.</p>
      </Empty>
    ),
    heard.map((item) => <Item item={item} />),
    visit.isOwner && (
      <p class="hint">
        Add a <Link to="publishing/hooks/~/new?kind=slack&about=attention">hook</Link> to get a message in a
        channel or at a URL when an item appears or clears.
      </p>
    ),
    muted.length > 0 && (
      <details class="more">
        <summary>Muted ({muted.length})</summary>
        {muted.map((item) => (
          <Item item={item} isMuted />
        ))}
      </details>
    ),
  );
}

/** The sentence, with the address at its end as a link. */
function withLink(action: string) {
  const [before, url] = action.split(/(https:\/\/\S+)$/, 2);
  return url === undefined ? action : [before, <a href={url}>{url}</a>];
}

type Step = { label: string; page?: string };
const check: Step = { label: 'Check integration', page: '/check' };
const token: Step = { label: 'Replace token', page: '/token' };

/** The place of the help: the name of the link, and the page below the item's own that only owners may open. */
const steps: Readonly<Partial<Record<string, Step>>> = {
  deliveries_rejected: check,
  no_deliveries: check,
  webhook_failing: check,
  silent: check,
  webhook_off: check,
  heartbeat_failed: check,
  token_refused: token,
  token_expires: token,
  deliveries_lost: { label: 'Show missed deliveries', page: '/missed' },
  trigger_failed: { label: 'Open trigger' },
  hook_failed: { label: 'Show messages' },
  schedule_late: { label: 'Open post' },
  roundup_late: { label: 'Open roundup' },
  approval_waiting: { label: 'Review text' },
} satisfies Partial<Record<AttentionKind, Step>>;

function Item({ item, isMuted = false }: { item: AttentionItem; isMuted?: boolean }) {
  const { id, kind, message, since, count, effect, action, path, mutedUntil } = item;
  const { isOwner } = useVisit();
  const step = isOwner || steps[kind]?.page === undefined ? steps[kind] : undefined;
  const { label, page = '' } = step ?? { label: 'Open integration' };
  const mute = (days: number, label: string) => (
    <Action to="attention/mute" label={label} fields={{ id, days: `${days}` }} />
  );
  return (
    <article class="card pad">
      <h2 class="flat">{message}</h2>
      <p class="dim">
        Since <When at={since} />
        {count > 1 && `, ${count.toLocaleString('en')} times`}. {effect}
        {isMuted && mutedUntil !== null && (
          <>
            {' '}
            Muted until <When at={mutedUntil} />.
          </>
        )}
      </p>
      {(path === null || !action.startsWith(tidings)) && <p>{withLink(action)}</p>}
      <div class="bar">
        {path !== null && (
          <LinkButton to={`${path}${page}`} label={label} kind={isMuted ? undefined : 'go'} />
        )}
        {isMuted && mute(0, 'Unmute')}
        {!isMuted && mute(1, 'Mute for a day')}
        {!isMuted && mute(7, 'Mute for a week')}
      </div>
    </article>
  );
}

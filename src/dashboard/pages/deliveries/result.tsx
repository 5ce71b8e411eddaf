import type { ComponentChildren } from 'preact';
import { listCaused, shippedBy } from '../../../drafting/triggers/hand-over.ts';
import {
  describeFilters,
  type Exclusion,
  explainNoTrigger,
  findExclusion,
  isPending,
  kindsFor,
  listTriggers,
  type Trigger,
} from '../../../drafting/triggers/model.ts';
import { listResults, type Outcome, type Result } from '../../../drafting/triggers/results-store.ts';
import type { Delivery } from '../../../integrations/deliveries/store.ts';
import type { Integration, Repository } from '../../../integrations/store.ts';
import { contentTypeRules } from '../../../posts/model.ts';
import type { Event } from '../../../providers/events.ts';
import type { MemberVisit } from '../../page.ts';
import { counted, Link, LinkButton, Status, useVisit, When } from '../../view/elements.tsx';
import { Action } from '../../view/form.tsx';
import { eventWords } from '../triggers/list.tsx';

// The results of a delivery: a row for each trigger that received it, or the reason why none did.

export async function readResult(
  { deps, organization }: Pick<MemberVisit, 'deps' | 'organization'>,
  entry: Delivery,
  integration: Integration | null,
) {
  const repositories = integration?.repositories ?? [];
  const [{ results, triggers }, caused] = await Promise.all([
    deps.db.read(async (tx) => ({
      results: await listResults(tx, organization.id, [entry.id]),
      triggers: await listTriggers(tx, { integrationId: entry.integrationId }),
    })),
    listCaused(deps, entry, repositories),
  ]);
  const others = caused.filter(({ id }) => results.every(({ post }) => post?.id !== id));
  return { shipped: shippedBy(entry, repositories), results, triggers, others };
}

type Known = Awaited<ReturnType<typeof readResult>>;

interface Props extends Known {
  entry: Delivery;
  integration: Integration | null;
}

/** The section, which the script replaces while a draft is being written. */
export function ResultSection(props: Props) {
  const { results, others, entry } = props;
  const { base } = useVisit();
  return (
    <section
      aria-labelledby="result"
      class="result"
      data-result={`${base}/deliveries/${entry.id}/result`}
      data-pending={results.some(isPending) ? '' : undefined}
    >
      <h2 id="result">Result</h2>
      <div role="status">
        {results.length > 0 && (
          <ul class="card rows">
            {results.map((result) => (
              <ResultRow {...props} result={result} />
            ))}
          </ul>
        )}
        {isUnmet(props) && <NoResult {...props} />}
        {others.length > 0 && (
          <ul class="card rows">
            {others.map(({ id, title, status, updatedAt }) => (
              <li>
                <Status status={status} />
                <span class="grow any">
                  Also in <Link to={`posts/${id}`}>{title}</Link>
                </span>
                <span class="dim">
                  Changed <When at={updatedAt} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </div>
    </section>
  );
}

/** No trigger makes drafts of the event, or received it. A release without one still closes the drafts of others. */
function isUnmet({ results, others, shipped, triggers }: Known): boolean {
  if (others.length > 0) return false;
  if (results.length === 0) return true;
  const isUnused = results.every(({ outcome, post }) => outcome === 'unchanged' && post === null);
  return isUnused && explainNoTrigger(shipped, triggers).reason === 'none';
}

function ResultRow({ result, ...props }: Props & { result: Result }) {
  const { now } = useVisit();
  const trigger = props.triggers.find(({ id }) => id === result.triggerId);
  const [kind, word, text, button] = describe(result, trigger, props, now);
  return (
    <li>
      <span class={`tag ${kind}`}>{word}</span>
      <div class="grow">
        <p class="flat any">{text}</p>
        <p class="hint flat">
          {trigger === undefined ? (
            'Trigger deleted'
          ) : (
            <>
              Trigger:{' '}
              <Link to={pathOf(trigger)}>
                {eventWords[trigger.event]}, {describeTrigger(trigger)}
              </Link>
            </>
          )}
        </p>
      </div>
      {button}
    </li>
  );
}

const pathOf = ({ integrationId, id }: Trigger) => `integrations/${integrationId}/triggers/${id}`;

function describeTrigger({ contentType, filters }: Trigger): string {
  const words = contentTypeRules[contentType].name;
  return Object.keys(filters).length === 0 ? words : `${words}, ${describeFilters(filters)}`;
}

/** The tag of a row, its sentence, and the main next step. */
type Description = [kind: string, word: string, text: ComponentChildren, button?: ComponentChildren];

function describe(
  { outcome, post, error, run }: Result,
  trigger: Trigger | undefined,
  { results, shipped }: Props,
  now: Date,
): Description {
  // Among several next steps, none is the primary one.
  const kind = results.length === 1 ? 'go' : undefined;
  const to = post && `posts/${post.id}`;
  const link = to && <Link to={to}>{post?.title}</Link>;
  const isPublished = post?.status === 'published';
  const open = to && <LinkButton to={to} label={isPublished ? 'Open post' : 'Open draft'} kind={kind} />;
  switch (outcome) {
    case 'queued':
      return describeQueued(trigger, shipped?.event.occurredAt, now);
    case 'created':
    case 'updated':
      if (link === null) return ['ignored', 'Deleted', 'Somebody deleted the draft.'];
      if (outcome === 'updated')
        return [post?.status ?? 'draft', 'Updated', <>Draft updated: {link}</>, open];
      return isPublished
        ? ['published', 'Published', link, open]
        : ['draft', 'Draft', <>Draft ready: {link}</>, open];
    case 'unchanged':
      return link === null
        ? ['ignored', 'No draft', whyUnchanged(trigger, shipped)]
        : ['ignored', 'No changes', <>No changes: {link} has this event already.</>, open];
    case 'suggested':
      return [
        'soon',
        'Suggestion',
        <>You edited {link ?? 'the post'}, so Tidings kept your text. The new version is a suggestion.</>,
        to && <LinkButton to={to} label="Review suggestion" kind={kind} />,
      ];
    case 'kept':
      return link === null
        ? ['ignored', 'Kept', 'The post with this event was published or deleted, so Tidings left it alone.']
        : ['ignored', 'Kept', <>You edited {link}, so Tidings kept your text.</>, open];
    case 'removed':
      return ['ignored', 'Removed', 'Tidings removed the draft: nothing was left to announce.'];
    case 'waiting':
      if (trigger === undefined) return describeQueued(trigger, undefined, now);
      return ['soon', 'Waiting', 'Collected for the next release. The draft follows with the release.'];
    case 'filtered': {
      const isKnown = trigger && shipped;
      const text = isKnown ? describeExclusion(trigger, shipped.event) : 'A filter excluded this event.';
      return ['ignored', 'Filtered', text];
    }
    case 'failed': {
      const retryAt = run && new Date(Math.max(run.dueAt, now.getTime() + 1000)).toISOString();
      const next =
        retryAt && run.status === 'queued' ? (
          <>
            Next retry <When at={retryAt} />.
          </>
        ) : (
          'Fix the trigger, then retry.'
        );
      return [
        'failed',
        'Failed',
        <>
          The draft failed: {error ?? 'no reason was recorded'}. {next}
        </>,
        trigger && <Action to={`${pathOf(trigger)}/retry`} label="Retry run" />,
      ];
    }
  }
}

function whyUnchanged(trigger: Trigger | undefined, shipped: Known['shipped']): string {
  if (shipped?.isEdit)
    return 'This event edits something that arrived before the trigger. An edit alone creates no draft.';
  const isOfRelease = trigger?.event === 'release';
  if (shipped?.event.type === 'release' && !isOfRelease)
    return 'This trigger had no open draft for the release to close.';
  if (isOfRelease && shipped?.event.type !== 'release')
    return 'The release has notes, so its draft does not list this event.';
  return 'This event changed no draft.';
}

function describeQueued(trigger: Trigger | undefined, at: string | undefined, now: Date): Description {
  if (trigger === undefined)
    return ['ignored', 'No draft', 'The trigger was deleted before it wrote a draft.'];
  if (!trigger.enabled)
    return ['disabled', 'Waiting', 'The trigger is disabled. Enable it to write the draft.'];
  if (at === undefined || trigger.event !== 'release' || at <= now.toISOString())
    return ['soon', 'Queued', <span aria-busy="true">Writing the draft…</span>];
  return [
    'soon',
    'Waiting',
    <>
      The release is dated in the future. Its draft waits until <When at={at} />.
    </>,
  ];
}

const exclusions: Readonly<Record<Exclusion, string>> = {
  default: 'Only the default branch and completed work become drafts.',
  branch: 'The branch does not match.',
  label: 'No label matches.',
  path: 'It changes no file in one of the paths.',
  prereleases: 'It is a pre-release.',
  tag: 'The tag does not match.',
  team: 'The team does not match.',
  project: 'The project does not match.',
};

function describeExclusion(trigger: Trigger, event: Event) {
  const exclusion = findExclusion(trigger, event);
  if (exclusion === null)
    return 'A filter excluded this event. The filters have changed since. Replay the delivery.';
  if (exclusion === 'default') return exclusions.default;
  return (
    <>
      {exclusions[exclusion]} Filter:{' '}
      <code>{describeFilters({ [exclusion]: trigger.filters[exclusion] })}</code>
    </>
  );
}

/** No trigger received the event: the reason, and the button that changes that. */
function NoResult({ shipped, triggers, entry, integration }: Props) {
  const { isOwner } = useVisit();
  const found = explainNoTrigger(shipped, triggers);
  if (found.reason === 'no_event' || shipped === null) {
    return <p class="card empty">This event creates no drafts.</p>;
  }
  const words = eventWords[shipped.event.type];
  const path = `integrations/${entry.integrationId}/triggers/new?event=${shipped.event.type}`;
  if (found.reason === 'none') {
    const canCreate =
      integration !== null &&
      !shipped.isEdit &&
      kindsFor(integration.type).some(({ event }) => event === shipped.event.type);
    return (
      <div class="card empty">
        <p>
          No draft: {found.hasOthers ? 'no trigger matches this event' : 'this integration has no triggers'}.
        </p>
        {!canCreate ? null : isOwner ? (
          <>
            <Action to={`deliveries/${entry.id}/trigger`} label="Create trigger" kind="go" />
            <p class="hint">
              {words} then become changelog drafts. Tidings replays this delivery, so its draft follows at
              once. <Link to={path}>Choose filters first</Link>
            </p>
          </>
        ) : (
          <p class="hint">An owner can create a trigger.</p>
        )}
      </div>
    );
  }
  return (
    <div class="card empty">
      <p>
        {found.reason === 'disabled'
          ? 'No draft: the trigger is disabled.'
          : 'No draft: the trigger was not enabled when this delivery arrived. Replay the delivery to write one.'}
      </p>
      <LinkButton to={pathOf(found.trigger)} label="Open trigger" />
    </div>
  );
}

/** Outcomes without a sentence of their own, the most important first. */
const words: readonly (readonly [outcome: Outcome, text: string])[] = [
  ['failed', 'Draft failed'],
  ['suggested', 'Suggestion waiting'],
  ['removed', 'Draft removed'],
  ['waiting', 'Waits for a release'],
  ['kept', 'Your text was kept'],
  ['unchanged', 'No changes'],
  ['filtered', 'Filtered out'],
  ['queued', 'Trigger is disabled'],
];

/** The result of a processed entry, in a few words for its row of the log. */
export function OutcomeCell(props: {
  entry: Delivery;
  results: readonly Result[];
  repositories: readonly Repository[];
}) {
  const { entry, results, repositories } = props;
  const { id } = entry;
  if (results.length === 0) {
    // An event of a disconnected integration cannot be replayed either way.
    const isEvent = shippedBy(entry, repositories) !== null;
    return isEvent ? <Link to={`deliveries/${id}`}>No trigger</Link> : <span class="dim">No draft</span>;
  }
  if (results.some((each) => each.outcome === 'queued' && isPending(each))) {
    const { occurredAt = '' } = shippedBy(entry, repositories)?.event ?? {};
    // A release that is dated in the future waits for its time.
    if (results.some(({ run }) => run !== null && new Date(run.dueAt).toISOString() <= occurredAt))
      return <span class="dim">Waiting</span>;
    return (
      <span class="dim" data-pending="">
        Writing…
      </span>
    );
  }
  const written = results.filter(({ outcome }) => outcome === 'created');
  const failed = results.filter(({ outcome }) => outcome === 'failed').length;
  const [first] = written;
  if (first !== undefined) {
    const isPublished = written.every(({ post }) => post?.status === 'published');
    const ready = counted(written.length, isPublished ? 'post' : 'draft');
    const text = failed === 0 ? ready : `${ready}, ${failed} failed`;
    const isOne = failed === 0 && written.length === 1 && first.post !== null;
    return <Link to={isOne ? `posts/${first.post?.id}` : `deliveries/${id}`}>{text}</Link>;
  }
  const updated = results.find(({ outcome, post }) => outcome === 'updated' && post !== null);
  if (updated !== undefined && failed === 0) {
    return (
      <Link to={`posts/${updated.post?.id}`} title={`Updates ${updated.post?.title}`} class="cut">
        Updates {updated.post?.title}
      </Link>
    );
  }
  // Nothing waits for a trigger that was deleted with its integration.
  const settled = results.filter(({ outcome, trigger }) => outcome !== 'waiting' || trigger !== null);
  const [, text = 'No draft'] = words.find(([each]) => settled.some(({ outcome }) => outcome === each)) ?? [];
  return <Link to={`deliveries/${id}`}>{text}</Link>;
}

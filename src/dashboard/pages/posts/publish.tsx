import { Type } from '@sinclair/typebox';
import type { ComponentChildren, VNode } from 'preact';
import { type AppError, invalidField } from '../../../lib/app-error.ts';
import {
  DAY_MS,
  describeClockChange,
  formatTime,
  knownZone,
  localTime,
  parseInZone,
  parseTime,
  type ZonedTime,
} from '../../../lib/time.ts';
import { describeActor, listAuditEvents } from '../../../people/audit.ts';
import { contentFor, isWithoutText } from '../../../posts/content.ts';
import { contentTypeRules, contentTypes, MAX_TEXT, type OwnedPost, type Post } from '../../../posts/model.ts';
import {
  cancelSchedule,
  findSchedule,
  type GivenTime,
  type Schedule,
  schedulePost,
} from '../../../posts/schedule.ts';
import { datePost, deletePost, duplicatePost } from '../../../posts/service.ts';
import { type EditState, editState, seenOf } from '../../edit.ts';
import { EDIT_CONFLICT, type FieldState, formState, NoFields } from '../../fields.ts';
import { type Answer, type MemberVisit, type Page, post, redirect } from '../../page.ts';
import { editForm } from '../../submission.ts';
import { Clock, Copy, More, Status } from '../../view/elements.tsx';
import { Action, EditVersion, Field, FormError, Hidden } from '../../view/form.tsx';
import { ApprovalPart, type FoundApproval } from './approval.tsx';
import { requirePost, type Shown } from './suggestion.tsx';
import { restorePath } from './trash.tsx';
import { undoPath } from './versions.tsx';
import { shown } from './words.tsx';

// Everything about a post but its text: when it is published, its date, copies, and the trash.

/** The types of posts that people paste somewhere. */
const PASTED = contentTypes.flatMap((type) => {
  const { pastedInto } = contentTypeRules[type];
  return pastedInto === null ? [] : [{ type, ...pastedInto }];
});

/** Of a field with a time: the zone of the page, and the exact time that the field was opened with. */
const clock = { timeZone: Type.Optional(Type.String()), openedWith: Type.Optional(Type.String()) };
const ScheduleForm = Type.Object({
  publishAt: Type.String({ label: 'Publish at', subject: 'The time', maxLength: 40 }),
  ...clock,
});
const DateForm = Type.Object({
  createdAt: Type.String({ label: 'Date', maxLength: 40 }),
  ...clock,
});

const POST = '/dashboard/:organizationId/posts/:postId';

type ShowEditor = (visit: MemberVisit, error?: AppError) => Promise<Answer>;

/** `show`: the page with the panel. It gets the error of a form that was refused. */
export const publishPages = (show: ShowEditor): readonly Page[] => [
  editForm(`${POST}/schedule`, 'publisher', ScheduleForm, show, async (visit, values, merge) => {
    const { post, path } = await requirePost(visit);
    const timeZone = zoneOf(visit);
    const given = { publishAt: exactOf(visit, values.publishAt), timeZone };
    if (await mustAsk(visit, post))
      return redirect(askingPath(path, { ...given, publishAt: values.publishAt }));
    const typed = { publishAt: parseInZone(given.publishAt, given.timeZone)?.time };
    const { schedule, clockChange } = await schedulePost(visit.deps, post.id, given, (stored, post) => {
      merge.requireSeen(shown(post));
      merge.changes(scheduleIn(typed), scheduleIn(stored));
    });
    const time = formatTime(schedule.publishAt, visit.look.zone);
    const undo = undoPath(`${path}/schedule/cancel`, scheduleIn(schedule));
    return redirect(path, `Scheduled for ${time}.${describeClockChange(clockChange)}`, undo);
  }),

  editForm(`${POST}/schedule/cancel`, 'publisher', NoFields, show, async (visit, _, merge) => {
    const { post, path } = await requirePost(visit);
    const isCanceled = await cancelSchedule(visit.deps, post.id, (stored) => {
      merge.requireSeen(scheduleIn(stored));
    });
    return redirect(
      path,
      isCanceled ? 'Canceled the schedule. The post stays a draft.' : 'The post has no schedule.',
    );
  }),

  editForm(`${POST}/date`, 'member', DateForm, show, async (visit, given, merge) => {
    const { post, path } = await requirePost(visit);
    const { time: date, clockChange } = readDate(exactOf(visit, given.createdAt), zoneOf(visit));
    const { createdAt } = await datePost(visit.deps, post.id, date, (stored) => {
      merge.changes(dateIn({ createdAt: date, isDateSet: true }), dateIn(stored));
    });
    return redirect(
      path,
      `Set the date to ${formatTime(createdAt, visit.look.zone)}.${describeClockChange(clockChange)}`,
    );
  }),

  editForm(`${POST}/date/reset`, 'member', NoFields, show, async (visit, _, merge) => {
    const { post, path } = await requirePost(visit);
    await datePost(visit.deps, post.id, null, (stored) => merge.requireSeen(dateIn(stored)));
    return redirect(path, 'The post gets its date when it is published.');
  }),

  post(`${POST}/duplicate`, 'member', async (visit) => {
    const { post } = await requirePost(visit);
    const copy = await duplicatePost(visit.deps, post.id);
    return redirect(`posts/${copy.id}`, 'Created a copy as a draft. You are editing the copy.');
  }),

  editForm(`${POST}/delete`, 'member', NoFields, show, async (visit, _, merge) => {
    const { id, title } = (await requirePost(visit)).post;
    await deletePost(visit.deps, id, (stored) => merge.requireSeen(shown(stored)));
    const short = title.length > 80 ? `${title.slice(0, 79)}…` : title;
    const done = `Deleted “${short.toWellFormed()}”. It stays in the trash for 30 days.`;
    return redirect('posts', done, restorePath(visit, [id]));
  }),
];

/** The edited times as the fields show them: to the minute. */
const minutes = (time: Date | string | number) => new Date(new Date(time).setUTCSeconds(0, 0));
const scheduleIn = (schedule: { publishAt?: Date | number | undefined } | null) => ({
  publishAt: schedule?.publishAt === undefined ? null : minutes(schedule.publishAt),
});
const dateIn = ({ createdAt, isDateSet }: { createdAt: Date | string; isDateSet: boolean }) => ({
  createdAt: isDateSet ? minutes(createdAt) : null,
});

/** The button that publishes it anyway adds this to the address. */
const ANYWAY = '?without-text=ok';

/** Readers would get a post without text, and the person has not said yet that they mean it. */
export async function mustAsk(
  { url }: MemberVisit,
  { contentType, ...post }: Pick<Post, 'contentType' | 'markdown'>,
): Promise<boolean> {
  if (url.search === ANYWAY) return false;
  // A longer text is refused later.
  const markdown = post.markdown.slice(0, MAX_TEXT);
  return isWithoutText({ content: await contentFor(contentType, markdown), markdown });
}

/** The page of a post that asks before it is published, or before it is scheduled for this time. */
export function askingPath(path: string, time?: GivenTime): string {
  return `${path}?${new URLSearchParams({ 'without-text': time ? 'schedule' : 'publish', ...time })}`;
}

function isAsking(
  { url }: MemberVisit,
  { status, ...post }: OwnedPost,
  what: 'publish' | 'schedule',
): boolean {
  return url.searchParams.get('without-text') === what && status === 'draft' && isWithoutText(post);
}

/** Of the fields: as they were sent, in the form or in the address of a page that asks. */
const zoneOf = ({ look, form, url }: MemberVisit) =>
  knownZone(form.get('timeZone') ?? url.searchParams.get('timeZone')) ?? look.zone;

/** The time that a field was opened with, unless it was changed: of a repeated hour, the field shows either. */
function exactOf(visit: MemberVisit, typed: string): string {
  const opened = parseTime(visit.form.get('openedWith') ?? '');
  return opened !== null && localTime(opened, zoneOf(visit)) === typed ? opened.toISOString() : typed;
}

function readDate(createdAt: string, zone: string): ZonedTime {
  const parsed = parseInZone(createdAt, zone);
  if (parsed === null) throw invalidField('createdAt', 'must be a date and a time, such as 2026-01-31T09:00');
  return parsed;
}

/** The posted form is one of the panel: its address is below that of the post. */
export function isOfPanel({ request, url, base }: MemberVisit): boolean {
  return request.method === 'POST' && url.pathname.slice(base.length + '/posts/'.length).includes('/');
}

/** The panel beside the text of a post. Its first buttons send the form `post`, with the text. `approval`: null where it needs none. */
export async function publishPanel(
  visit: MemberVisit,
  { post, path, approval }: Shown & { approval: FoundApproval | null },
  error?: AppError,
): Promise<VNode> {
  const { deps, form, mayPublish } = visit;
  const isReady = approval === null || approval.state === 'approved';
  const isAskedFor = approval?.state === 'waiting' && approval.approval?.askedById !== null;
  const [schedule, publication] = await Promise.all([
    post.status === 'draft' ? deps.db.read((tx) => findSchedule(tx, post.id)) : null,
    post.status === 'published' ? findPublication(visit, post) : null,
  ]);
  const isConflict = error?.code === EDIT_CONFLICT;
  const isField = error?.status === 400 || isConflict;
  const errorOf = (field: string) => (isField && form.has(field) ? error : undefined);
  const isAsked = isAsking(visit, post, 'publish');
  return (
    <section class="card pad publish" aria-labelledby="publish">
      <div class="head">
        <h2 id="publish">Publication</h2>
        <Status status={schedule === null ? post.status : 'scheduled'} />
      </div>
      {isOfPanel(visit) && error?.status === 409 && !isConflict && <FormError error={`${error.message}.`} />}
      {PASTED.map(({ type, name }) => (
        <div class={`pasted for-${type}`} key={type}>
          <p class="hint flat">
            Tidings doesn't post to {name}. “Publish to the API” lets your site read the post.
          </p>
          <Copy text="plain-text" label={`Copy for ${name}`} />
        </div>
      ))}
      {approval !== null && <ApprovalPart {...approval} post={post} path={path} />}
      {post.status === 'published' ? (
        <>
          {publication !== null && <p class="hint">{publication}.</p>}
          {mayPublish && <StatusButton status="draft">Unpublish</StatusButton>}
        </>
      ) : (
        <>
          {schedule && (
            <div class="scheduled-for">
              <p>
                Scheduled for <Clock at={schedule.publishAt} />
                {schedule.actorName !== null && <span class="dim"> by {schedule.actorName}</span>}
              </p>
              {!isReady && <p>Tidings publishes it only if its text is approved by then.</p>}
              {mayPublish && (
                <Action
                  to={`${path}/schedule/cancel`}
                  label="Cancel schedule"
                  seen={seenOf(scheduleIn(schedule))}
                />
              )}
            </div>
          )}
          {!isReady && !isAskedFor && <StatusButton status="asked">Ask for approval</StatusButton>}
          {!mayPublish && <p class="hint">Publishers and owners publish it.</p>}
          {isAsked && <FormError error="This post has no text. Publish it anyway?" />}
          {isReady && mayPublish && (
            <div class="bar">
              {isAsked ? (
                <StatusButton status="published" kind="bad" to={path + ANYWAY}>
                  Publish without text
                </StatusButton>
              ) : (
                <StatusButton status="published" kind="go">
                  {contentTypes.map((type) => (
                    <span class={`for-${type}`} key={type}>
                      {contentTypeRules[type].pastedInto === null ? 'Publish now' : 'Publish to the API'}
                    </span>
                  ))}
                </StatusButton>
              )}
            </div>
          )}
          {isReady && mayPublish && schedulePart(visit, { post, path }, schedule, errorOf('publishAt'))}
        </>
      )}
      {datePart(visit, { post, path }, errorOf('createdAt'))}
      <div class="bar">
        <Action to={`${path}/duplicate`} label="Duplicate post" />
        <Action to={`${path}/delete`} label="Delete post" kind="bad" seen={seenOf(shown(post))} />
      </div>
    </section>
  );
}

function StatusButton(props: { status: string; kind?: string; to?: string; children: ComponentChildren }) {
  const { status, kind = '', to, children } = props;
  return (
    <button
      type="submit"
      form="post"
      formAction={to}
      name="status"
      value={status}
      class={`button ${kind}`.trim()}
    >
      {children}
    </button>
  );
}

/** Of a schedule, for a few days: who chose the time, and whether the post was late. */
async function findPublication({ deps, organization }: MemberVisit, { id }: OwnedPost) {
  const since = new Date(deps.clock.now().getTime() - 7 * DAY_MS);
  const filter = { actions: ['post.published'], target: id, since } as const;
  const [event] = await deps.db.read((tx) => listAuditEvents(tx, organization.id, filter, 1));
  return event?.actor.type === 'server' ? `${describeActor(event.actor)} ${event.summary}` : null;
}

const ownConflict = (error: AppError | undefined) => (isOfButton(error) ? undefined : error);

/** A button acted on something that the page did not show as it is. */
export const isOfButton = (error: AppError | undefined): boolean =>
  error?.code === EDIT_CONFLICT &&
  (error.details as unknown as EditState).conflicts.some(({ typed }) => typed === undefined);

/** Offers tomorrow at nine for a post without a schedule. */
function schedulePart(
  visit: MemberVisit,
  { post, path }: Shown,
  schedule: Schedule | null,
  error: AppError | undefined,
) {
  const zone = zoneOf(visit);
  const time = schedule && new Date(schedule.publishAt);
  const now = visit.deps.clock.now().getTime();
  const tomorrow = localTime(new Date(now + DAY_MS), zone).slice(0, 'YYYY-MM-DD'.length);
  const stored = { publishAt: time ? localTime(time, zone) : `${tomorrow}T09:00` };
  const isAsked = isAsking(visit, post, 'schedule');
  const asked = { ...stored, ...Object.fromEntries(isAsked ? visit.url.searchParams : []) };
  const { fields, problem } = formState(ScheduleForm, error ? visit.form : asked, error);
  const own = editState(visit, scheduleIn(schedule), ownConflict(error));
  // A person who schedules a post has read it.
  const edit = { ...own, seen: `${own.seen} ${seenOf(shown(post))}` };
  return (
    <More
      label={schedule === null ? 'Schedule…' : 'Change schedule…'}
      kind="folded"
      isOpen={isAsked || error !== undefined}
    >
      <form method="post" action={`${path}/schedule`} class="stack">
        <EditVersion edit={{ ...edit, noun: 'schedule', labels: { publishAt: 'Publish at' } }} to={path} />
        <FormError error={problem ?? (isAsked ? 'This post has no text. Schedule it anyway?' : null)} />
        <ZonedField id="schedule-time" field={fields.publishAt} zone={zone} at={isAsked ? null : time} />
        {isAsked ? (
          <button type="submit" class="button bad" formAction={`${path}/schedule${ANYWAY}`}>
            Schedule without text
          </button>
        ) : (
          <button type="submit" class="button">
            Schedule post
          </button>
        )}
      </form>
    </More>
  );
}

function datePart(visit: MemberVisit, { post, path }: Shown, error: AppError | undefined) {
  const { status, isDateSet } = post;
  const time = new Date(post.createdAt);
  const zone = zoneOf(visit);
  const stored = { createdAt: localTime(time, zone) };
  const { fields, problem } = formState(DateForm, error ? visit.form : stored, error);
  const edit = editState(visit, dateIn(post), ownConflict(error));
  const date = isDateSet ? formatTime(time, zone) : 'when published';
  return (
    <More label={`Date: ${date}`} kind="folded" isOpen={error !== undefined}>
      <p class="hint">The API returns it as createdAt and sorts posts by it.</p>
      <form method="post" action={`${path}/date`} class="stack">
        <EditVersion edit={{ ...edit, noun: 'date', labels: { createdAt: 'Date' } }} to={path} />
        <FormError error={problem} />
        <ZonedField id="date-time" field={fields.createdAt} zone={zone} at={time} />
        <button type="submit" class="button">
          Set date
        </button>
      </form>
      {status === 'draft' && isDateSet && (
        <Action to={`${path}/date/reset`} label="Use publication date" seen={seenOf(dateIn(post))} />
      )}
    </More>
  );
}

/** A time in the zone. `at`: the one that it was opened with. */
function ZonedField(props: { id: string; field: FieldState; zone: string; at: Date | null }) {
  const { id, field, zone, at } = props;
  const typed = parseInZone(field.value ?? '', zone);
  const isFirst = typed !== null && (at === null || formatTime(at, zone) === formatTime(typed.time, zone));
  const hint = `Time zone: ${zone}.${isFirst ? describeClockChange(typed.clockChange) : ''}`;
  return (
    <>
      <Field {...field} id={id} type="datetime-local" hint={hint} />
      <Hidden values={{ timeZone: zone, ...(at && { openedWith: at.toISOString() }) }} />
    </>
  );
}

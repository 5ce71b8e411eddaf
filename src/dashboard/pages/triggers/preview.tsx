/** @jsxRuntime automatic @jsxImportSource preact */

import { listDeliveries } from '../../../deliveries/log-store.ts';
import type { Delivery } from '../../../deliveries/model.ts';
import type { Compose } from '../../../drafts/model.ts';
import { AppError } from '../../../lib/app-error.ts';
import { DAY_MS } from '../../../lib/time.ts';
import { previewTrigger, type RehearsedPost, rehearseTrigger } from '../../../triggers/rehearse.ts';
import { describeNoPost, isRefusal } from '../../../triggers/words.ts';
import type { MemberVisit } from '../../page.ts';
import { counted, exactly, Select, Status, When } from '../../view/elements.tsx';
import { FormError } from '../../view/form.tsx';
import { Prose } from '../../view/prose.tsx';
import { findEntry } from '../deliveries/one.tsx';
import { typeNames } from '../posts/origin.ts';
import type { FoundTrigger } from './one.tsx';

/** The time limit of a preview or a rehearsal, in milliseconds. */
const TIME_LIMIT_MS = 10_000;

/** Keeps a full log and a slow template from holding up a page for minutes. */
function withinTime(compose: Compose): Compose {
  const end = performance.now() + TIME_LIMIT_MS;
  return async (recipe, material) => {
    if (performance.now() > end) {
      throw new AppError(503, `This took longer than ${TIME_LIMIT_MS / 1000} s and was stopped.`);
    }
    return compose(recipe, material);
  };
}

/** Offers this many of the newest deliveries. */
const MAX_OFFERED = 20;
const MAX_TITLE_LENGTH = 80;

/** With `?preview=ID`, the posts that this delivery makes or changes now. */
export async function renderPreview(visit: MemberVisit, { trigger, path, integrationPath }: FoundTrigger) {
  const { deps, organization, url } = visit;
  const filter = { integrationId: trigger.integrationId, status: 'processed' } as const;
  const newest = await deps.db.read((tx) =>
    listDeliveries(tx, organization.id, filter, { limit: MAX_OFFERED, page: 1 }),
  );
  const id = url.searchParams.get('preview');
  const chosen = id === null ? null : await findEntry(visit, id);
  // A ping has no event, and a replay has the event of the delivery that it repeats.
  const offered = newest.filter(({ payload, replayOf }) => payload.data !== null && replayOf === null);
  if (chosen !== null && !offered.some((each) => each.id === chosen.id)) offered.unshift(chosen);
  return (
    <section aria-labelledby="preview">
      <h2 id="preview">Preview</h2>
      <p class="hint">See the posts that a delivery would make or change now. Nothing is saved.</p>
      {offered.length === 0 ? (
        <p>
          No deliveries yet. <a href={integrationPath}>Send a test event</a> to preview it here.
        </p>
      ) : (
        <form method="get" action={`${path}#preview`} class="bar ends">
          <Select
            label="Delivery"
            name="preview"
            value={chosen?.id}
            options={offered.map((each) => ({ value: each.id, label: nameOf(each) }))}
          />
          <button type="submit" class="button">
            Preview
          </button>
        </form>
      )}
      {chosen !== null ? (
        await renderPosts(visit, (compose) => previewTrigger(deps, compose, trigger.id, chosen))
      ) : id !== null ? (
        <FormError error="This delivery is no longer in the log." />
      ) : null}
    </section>
  );
}

function nameOf({ title, createdAt }: Delivery): string {
  const name =
    title.length > MAX_TITLE_LENGTH ? `${title.slice(0, MAX_TITLE_LENGTH).toWellFormed()}…` : title;
  return `${name || 'Untitled'} (${exactly(new Date(createdAt))})`;
}

/** How far back a rehearsal goes. */
const DAYS = 30;

/** With `?rehearse`, the posts that the trigger would have made. */
export async function renderRehearsal(visit: MemberVisit, { trigger, path }: FoundTrigger) {
  const { deps, url } = visit;
  const since = new Date(deps.clock.now().getTime() - DAYS * DAY_MS);
  return (
    <section aria-labelledby="rehearsal">
      <h2 id="rehearsal">Rehearsal</h2>
      <p class="hint">
        See the posts that this trigger would have made of the deliveries of the last {DAYS} days. Nothing is
        saved.
      </p>
      {url.searchParams.has('rehearse') ? (
        await renderPosts(visit, (compose) => rehearseTrigger(deps, compose, trigger.id, since))
      ) : (
        <p>
          <a class="button" href={`${path}?rehearse=yes#rehearsal`}>
            Rehearse
          </a>
        </p>
      )}
    </section>
  );
}

/** Limits the posts on the page. */
const MAX_SHOWN = 20;

/** The result of a preview or a rehearsal: posts, or why there are none. */
async function renderPosts({ deps }: MemberVisit, work: (compose: Compose) => Promise<RehearsedPost[]>) {
  try {
    const posts = (await work(withinTime(deps.compose))).reverse();
    if (posts.length === 0) return <p class="note">No posts. No delivery in the log matches this trigger.</p>;
    return (
      <>
        <p>{counted(posts.length, 'post')}, newest first.</p>
        {posts.slice(0, MAX_SHOWN).map((post) => (
          <TrialPost post={post} now={deps.clock.now()} />
        ))}
        {posts.length > MAX_SHOWN ? <p class="hint">…and {posts.length - MAX_SHOWN} older ones.</p> : null}
      </>
    );
  } catch (error) {
    if (isRefusal(error, 'no_post')) return <p class="note">No post: {describeNoPost(error.details)}.</p>;
    if (error instanceof AppError) return <FormError error={error.message} />;
    throw error;
  }
}

/** A post that a trigger would make, rendered for readers. */
function TrialPost({ post, now }: { post: RehearsedPost; now: Date }) {
  const { title, contentType, status, subject, createdAt } = post;
  const markdown = cut(post.markdown);
  return (
    <article class="card pad trial">
      <h3 class="flat">{title}</h3>
      <p class="bar dim">
        <Status status={status} /> {typeNames[contentType]}, {subject}, <When at={createdAt} now={now} />
      </p>
      {contentType === 'linkedin_post' ? (
        <div class="prose plain">{cut(post.content)}</div>
      ) : (
        <Prose markdown={markdown} />
      )}
      <details class="more">
        <summary>
          Markdown<span class="hidden">: {title}</span>
        </summary>
        <pre class="wrap">{markdown}</pre>
      </details>
    </article>
  );
}

/** In characters. */
const MAX_SHOWN_LENGTH = 10_000;

/** Shows the beginning of a post, cut at the end of a line, so that no link or fence is cut in two. */
function cut(text: string): string {
  if (text.length <= MAX_SHOWN_LENGTH) return text;
  const end = text.lastIndexOf('\n', MAX_SHOWN_LENGTH);
  return `${text.slice(0, end > 0 ? end : MAX_SHOWN_LENGTH).toWellFormed()}\n\n…`;
}

/** @jsxRuntime automatic @jsxImportSource preact */
import type { VNode } from 'preact';
import { DAY_MS } from '../../../lib/time.ts';
import type { Trigger } from '../../../triggers/model.ts';
import { MAX_STREAMED_DELIVERIES, streamRehearsal } from '../../../triggers/rehearse.ts';
import type { MemberVisit } from '../../page.ts';
import { Streamed } from '../../view/document.tsx';
import { counted } from '../../view/elements.tsx';
import { MAX_SHOWN, trialPost, whyNoPost, withinTime } from './preview.tsx';

/** How far back a rehearsal goes. */
const DAYS = 30;

/** With `?rehearse`, the place of the posts that the trigger would have made, which `rehearsedPosts` streams. */
export function Rehearsal({ visit: { url }, path }: { visit: MemberVisit; path: string }) {
  return (
    <section aria-labelledby="rehearsal">
      <h2 id="rehearsal">Rehearsal</h2>
      <p class="hint">
        See the posts that this trigger would have created from the deliveries of the last {DAYS} days, at
        most the newest {MAX_STREAMED_DELIVERIES.toLocaleString('en')}. Nothing is saved.
      </p>
      {isRehearsed(url) ? (
        <Streamed />
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

const isRehearsed = (url: URL) => url.searchParams.has('rehearse');

/** The pieces of a page with a `Rehearsal`; undefined when it shows none. */
export function rehearsalOf(visit: MemberVisit, trigger: Trigger): AsyncIterable<VNode> | undefined {
  return isRehearsed(visit.url) ? rehearse(visit, trigger) : undefined;
}

async function* rehearse({ deps, request }: MemberVisit, { id }: Trigger): AsyncGenerator<VNode> {
  const now = deps.clock.now();
  const since = new Date(now.getTime() - DAYS * DAY_MS);
  const options = { since, limit: MAX_SHOWN, signal: request.signal };
  let isAnnounced = false;
  let shown = 0;
  try {
    const { total, posts } = await streamRehearsal(deps, withinTime(deps.compose), id, options);
    if (total === 0) yield <NoPosts />;
    isAnnounced = total > 1;
    if (isAnnounced) yield <p>{counted(total, 'post')}, newest first.</p>;
    for await (const post of posts) {
      yield await trialPost(deps, post);
      shown++;
    }
    if (total > MAX_SHOWN) yield <p class="hint">…and {total - MAX_SHOWN} older ones.</p>;
  } catch (error) {
    if (isAnnounced) yield <p>{shown === 0 ? 'None' : `Only ${shown}`} of these posts could be made:</p>;
    yield whyNoPost(error);
  }
}

const NoPosts = () => <p class="note">No posts. No delivery in the log matches this trigger.</p>;

/** @jsxRuntime automatic @jsxImportSource preact */
import type { Compose } from '../../../drafts/model.ts';
import { AppError } from '../../../lib/app-error.ts';
import { DAY_MS } from '../../../lib/time.ts';
import { type RehearsedPost, rehearseTrigger } from '../../../triggers/rehearse.ts';
import type { DashboardDeps } from '../../page.ts';
import { FormError } from '../../view/form.tsx';
import { Status } from '../../view/status.tsx';
import { When } from '../../view/when.tsx';
import { contentWords } from './words.ts';

const DAYS = 30;
const MAX_SHOWN = 20;
const MAX_SHOWN_LENGTH = 4_000;

/** How long a rehearsal may take, in milliseconds. */
const TIME_LIMIT_MS = 10_000;

/** The posts of a rehearsal, the newest first, or why there are none. */
export type Rehearsed = { posts: RehearsedPost[] } | { error: string };

export async function rehearse(deps: DashboardDeps, triggerId: string): Promise<Rehearsed> {
  const since = new Date(deps.clock.now().getTime() - DAYS * DAY_MS);
  try {
    const posts = await rehearseTrigger(deps, withinTime(deps.compose), triggerId, since);
    return { posts: posts.reverse() };
  } catch (error) {
    if (error instanceof AppError) return { error: error.message };
    throw error;
  }
}

/** A log full of deliveries and a slow template shall not keep a page waiting for minutes. */
function withinTime(compose: Compose): Compose {
  const end = performance.now() + TIME_LIMIT_MS;
  return async (recipe, material) => {
    if (performance.now() > end) {
      throw new AppError(503, `The rehearsal took more than ${TIME_LIMIT_MS / 1000} s, and was ended.`);
    }
    return compose(recipe, material);
  };
}

export function Rehearsal({
  rehearsed,
  path,
  now,
}: {
  rehearsed: Rehearsed | null;
  path: string;
  now: Date;
}) {
  return (
    <section aria-labelledby="rehearsal">
      <h2 id="rehearsal">Rehearsal</h2>
      <p class="hint">
        The posts that it would have made of the deliveries of the last {DAYS} days, had there been nothing
        else. Changes nothing.
      </p>
      {rehearsed === null ? (
        <p>
          <a class="button" href={`${path}?rehearse=yes#rehearsal`}>
            Rehearse
          </a>
        </p>
      ) : 'error' in rehearsed ? (
        <FormError error={rehearsed.error} />
      ) : (
        <Posts posts={rehearsed.posts} now={now} />
      )}
    </section>
  );
}

function Posts({ posts, now }: { posts: readonly RehearsedPost[]; now: Date }) {
  if (posts.length === 0) {
    return <p class="note">None: no delivery in the log is one that this trigger makes posts of.</p>;
  }
  return (
    <>
      <p>{posts.length === 1 ? '1 post' : `${posts.length.toLocaleString('en')} posts`}, the newest first.</p>
      {posts.slice(0, MAX_SHOWN).map(({ title, contentType, status, subject, createdAt, markdown }) => (
        <article class="card pad">
          <h3 class="flat">{title}</h3>
          <p class="bar dim">
            <Status status={status} /> {contentWords[contentType]}, {subject},{' '}
            <When at={createdAt} now={now} />
          </p>
          <pre class="wrap">
            {markdown.length > MAX_SHOWN_LENGTH ? `${markdown.slice(0, MAX_SHOWN_LENGTH)}…` : markdown}
          </pre>
        </article>
      ))}
      {posts.length > MAX_SHOWN ? <p class="hint">…and {posts.length - MAX_SHOWN} older ones.</p> : null}
    </>
  );
}

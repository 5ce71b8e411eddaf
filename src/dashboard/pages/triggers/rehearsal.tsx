/** @jsxRuntime automatic @jsxImportSource preact */
import { AppError } from '../../../lib/app-error.ts';
import { DAY_MS } from '../../../lib/time.ts';
import { type RehearsedPost, rehearseTrigger } from '../../../triggers/rehearse.ts';
import type { DashboardDeps } from '../../page.ts';
import { FormError } from '../../view/form.tsx';
import { TrialPost, withinTime } from './trial.tsx';

const DAYS = 30;
const MAX_SHOWN = 20;

/** The posts of a rehearsal, newest first. */
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
        See the posts that this trigger would have made of the deliveries of the last {DAYS} days. Nothing is
        saved.
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
    return <p class="note">None. No delivery in the log matches this trigger.</p>;
  }
  return (
    <>
      <p>{posts.length === 1 ? '1 post' : `${posts.length.toLocaleString('en')} posts`}, newest first.</p>
      {posts.slice(0, MAX_SHOWN).map((post) => (
        <TrialPost post={post} now={now} />
      ))}
      {posts.length > MAX_SHOWN ? <p class="hint">…and {posts.length - MAX_SHOWN} older ones.</p> : null}
    </>
  );
}

/** @jsxRuntime automatic @jsxImportSource preact */

import type { Delivery } from '../../../deliveries/model.ts';
import type { Post } from '../../../posts/model.ts';
import { Status } from '../../view/status.tsx';
import { When } from '../../view/when.tsx';

/** The posts that a delivery became part of. */
export function Caused({
  posts,
  entry: { status, payload },
  base,
  now,
}: {
  posts: readonly Pick<Post, 'id' | 'title' | 'status' | 'contentType' | 'updatedAt'>[];
  entry: Delivery;
  base: string;
  now: Date;
}) {
  if (status !== 'processed' || payload.data === null) return null;
  return (
    <section aria-labelledby="caused">
      <h2 id="caused">Result</h2>
      {posts.length === 0 ? (
        <p class="hint">
          No posts yet. No trigger matched this event, its draft is still in the queue, or the change waits as
          a suggestion beside a post that somebody edited.
        </p>
      ) : (
        <ul class="card rows">
          {posts.map(({ id, title, status: postStatus, contentType, updatedAt }) => (
            <li>
              <Status status={postStatus} />
              <a href={`${base}/posts/${id}`}>{title}</a>
              <span class="dim">
                {contentType === 'changelog' ? 'changelog' : 'LinkedIn post'}, changed{' '}
                <When at={updatedAt} now={now} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** @jsxRuntime automatic @jsxImportSource preact */

import type { Delivery } from '../../../deliveries/model.ts';
import type { Post } from '../../../posts/model.ts';
import { Status } from '../../view/status.tsx';
import { When } from '../../view/when.tsx';

/** The posts that took a delivery up. */
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
      <h2 id="caused">What it caused</h2>
      {posts.length === 0 ? (
        <p class="hint">
          No post tells of this delivery: no trigger meant it, its draft is still being made, or it waits as a
          suggestion beside a post that a person has edited.
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

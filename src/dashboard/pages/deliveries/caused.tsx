/** @jsxRuntime automatic @jsxImportSource preact */
import type { Post } from '../../../posts/model.ts';
import type { Delivery } from '../../../webhooks/model.ts';
import { Status } from '../../view/status.tsx';
import { When } from '../../view/when.tsx';

/** The posts that name a delivery as where they come from. */
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
          No post names this delivery as where it comes from: no trigger meant it, its draft is still being
          made, or a later delivery went into the same draft.
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

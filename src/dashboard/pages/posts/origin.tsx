/** @jsxRuntime automatic @jsxImportSource preact */

import { listDeliveries } from '../../../deliveries/log-store.ts';
import type { Deps } from '../../../deps.ts';
import type { OwnedPost } from '../../../posts/model.ts';
import { type Origin, originOf } from '../../../posts/origin.ts';
import { When } from '../../view/when.tsx';
import { originWords, typeNames } from './words.tsx';

/** The log's entry of the delivery that a post was made of, while the log has it. */
export async function findSource({ db }: Pick<Deps, 'db'>, post: OwnedPost): Promise<string | null> {
  const { deliveryId } = originOf(post);
  if (deliveryId === null) return null;
  // A delivery may have arrived more than once: the first that was processed is the one.
  const entries = await listDeliveries(
    db,
    post.organizationId,
    { referenceId: deliveryId },
    { limit: 20, page: 1 },
  );
  return (entries.findLast(({ status }) => status === 'processed') ?? entries.at(-1))?.id ?? null;
}

/** Where a post came from and when, in one line. */
export function OriginLine({
  post,
  base,
  source,
  now,
}: {
  post: OwnedPost;
  base: string;
  /** The entry of the delivery. */
  source: string | null;
  now: Date;
}) {
  const origin = originOf(post);
  return (
    <p class="dim origin">
      <span>{typeNames[post.contentType]}</span>
      <span>
        <From origin={origin} />
      </span>
      {origin.author === null ? null : <span>by {origin.author}</span>}
      {source === null ? null : (
        <span>
          <a href={`${base}/deliveries/${source}`}>the delivery</a>
        </span>
      )}
      <span>
        <When at={post.createdAt} now={now} />
      </span>
      {post.updatedAt === post.createdAt ? null : (
        <span>
          changed <When at={post.updatedAt} now={now} />
        </span>
      )}
    </p>
  );
}

function From({ origin }: { origin: Origin }) {
  const words = originWords(origin);
  if (origin.url === null) return <>{words ?? 'written or imported by hand'}</>;
  return (
    <a href={origin.url} rel="noopener nofollow">
      {words ?? 'the source'}
    </a>
  );
}

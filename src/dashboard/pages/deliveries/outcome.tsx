/** @jsxRuntime automatic @jsxImportSource preact */
import type { Delivery } from '../../../deliveries/model.ts';
import type { Repository } from '../../../integrations/model.ts';
import { isPending } from '../../../triggers/explain.ts';
import { shippedBy } from '../../../triggers/hand-over.ts';
import type { Outcome, Result } from '../../../triggers/results-store.ts';
import { counted } from '../../view/elements.tsx';

/** Outcomes without a sentence of their own, the most important first. */
const words: readonly (readonly [outcome: Outcome, text: string])[] = [
  ['failed', 'Draft failed'],
  ['suggested', 'Suggestion waiting'],
  ['removed', 'Draft removed'],
  ['waiting', 'Waits for a release'],
  ['kept', 'Your text was kept'],
  ['unchanged', 'No changes'],
  ['filtered', 'Filtered out'],
  ['queued', 'Trigger is off'],
];

/** What became of a processed entry, in a few words for its row of the log. */
export function OutcomeCell(props: {
  entry: Delivery;
  results: readonly Result[];
  repositories: readonly Repository[];
  base: string;
}) {
  const { entry, results, repositories, base } = props;
  const { id } = entry;
  if (results.length === 0) {
    // An event of a disconnected integration cannot be replayed either way.
    const isEvent = shippedBy(entry, repositories) !== null;
    return isEvent ? <a href={`${base}/deliveries/${id}`}>No trigger</a> : <span class="dim">No draft</span>;
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
    return <a href={isOne ? `${base}/posts/${first.post?.id}` : `${base}/deliveries/${id}`}>{text}</a>;
  }
  const updated = results.find(({ outcome, post }) => outcome === 'updated' && post !== null);
  if (updated !== undefined && failed === 0) {
    return (
      <a href={`${base}/posts/${updated.post?.id}`} title={`Updates ${updated.post?.title}`} class="cut">
        Updates {updated.post?.title}
      </a>
    );
  }
  // Nothing waits for a trigger that was deleted with its integration.
  const settled = results.filter(({ outcome, trigger }) => outcome !== 'waiting' || trigger !== null);
  const [, text = 'No draft'] = words.find(([each]) => settled.some(({ outcome }) => outcome === each)) ?? [];
  return <a href={`${base}/deliveries/${id}`}>{text}</a>;
}

/** @jsxRuntime automatic @jsxImportSource preact */

import { listDeliveries } from '../../../deliveries/log-store.ts';
import type { Delivery } from '../../../deliveries/model.ts';
import { AppError } from '../../../lib/app-error.ts';
import type { Trigger } from '../../../triggers/model.ts';
import { previewTrigger, type RehearsedPost } from '../../../triggers/rehearse.ts';
import { describeNoPost, isRefusal } from '../../../triggers/words.ts';
import type { MemberVisit } from '../../page.ts';
import { FormError } from '../../view/form.tsx';
import { Select } from '../../view/select.tsx';
import { exactly } from '../../view/when.tsx';
import { findEntry } from '../deliveries/find.ts';
import { TrialPost, withinTime } from './trial.tsx';

/** Offers this many of the newest deliveries. */
const MAX_OFFERED = 20;
const MAX_TITLE_LENGTH = 80;

type Outcome = { posts: RehearsedPost[] } | { why: string } | { error: string };

/** The deliveries to choose from, and the result for the chosen one. */
export interface Previewed {
  deliveries: Delivery[];
  chosen: Delivery | null;
  outcome: Outcome | null;
}

/** With `?preview=ID`, the posts that this delivery makes or changes now. */
export async function preview(visit: MemberVisit, trigger: Trigger): Promise<Previewed> {
  const { deps, organization, url } = visit;
  const filter = { integrationId: trigger.integrationId, status: 'processed' } as const;
  const newest = await listDeliveries(deps.db, organization.id, filter, { limit: MAX_OFFERED, page: 1 });
  // A ping has no event, and a replay has the event of the delivery that it repeats.
  const deliveries = newest.filter(({ payload, replayOf }) => payload.data !== null && replayOf === null);
  const id = url.searchParams.get('preview');
  if (id === null) return { deliveries, chosen: null, outcome: null };
  const chosen = await findEntry(visit, id);
  if (chosen === null) {
    return { deliveries, chosen, outcome: { error: 'This delivery is no longer in the log.' } };
  }
  const isOffered = deliveries.some((each) => each.id === chosen.id);
  return {
    deliveries: isOffered ? deliveries : [chosen, ...deliveries],
    chosen,
    outcome: await outcomeOf(visit, trigger, chosen),
  };
}

async function outcomeOf({ deps }: MemberVisit, { id }: Trigger, delivery: Delivery): Promise<Outcome> {
  try {
    return { posts: await previewTrigger(deps, withinTime(deps.compose), id, delivery) };
  } catch (error) {
    if (isRefusal(error, 'no_post')) return { why: describeNoPost(error.details) };
    if (error instanceof AppError) return { error: error.message };
    throw error;
  }
}

export function Preview({
  previewed: { deliveries, chosen, outcome },
  path,
  integrationPath,
  now,
}: {
  previewed: Previewed;
  path: string;
  integrationPath: string;
  now: Date;
}) {
  return (
    <section aria-labelledby="preview">
      <h2 id="preview">Preview</h2>
      <p class="hint">See the posts that a delivery would make or change now. Nothing is saved.</p>
      {deliveries.length === 0 ? (
        <p>
          No deliveries yet. <a href={integrationPath}>Send a test event</a> to preview it here.
        </p>
      ) : (
        <form method="get" action={`${path}#preview`} class="bar ends">
          <Select
            label="Delivery"
            name="preview"
            value={chosen?.id}
            options={deliveries.map((each) => ({ value: each.id, label: nameOf(each) }))}
          />
          <button type="submit" class="button">
            Preview
          </button>
        </form>
      )}
      {outcome === null ? null : <Result outcome={outcome} now={now} />}
    </section>
  );
}

function Result({ outcome, now }: { outcome: Outcome; now: Date }) {
  if ('error' in outcome) return <FormError error={outcome.error} />;
  if ('why' in outcome) return <p class="note">No post: {outcome.why}.</p>;
  return (
    <>
      {outcome.posts.map((post) => (
        <TrialPost post={post} now={now} />
      ))}
    </>
  );
}

function nameOf({ title, createdAt }: Delivery): string {
  const name =
    title.length > MAX_TITLE_LENGTH ? `${title.slice(0, MAX_TITLE_LENGTH).toWellFormed()}…` : title;
  return `${name || 'Without a title'} (${exactly(new Date(createdAt))})`;
}

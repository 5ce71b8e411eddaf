import type { VNode } from 'preact';
import type { Compose } from '../../../drafting/store.ts';
import { describeNoPost, isRefusal, kinds, type Trigger } from '../../../drafting/triggers/model.ts';
import {
  previewFirst,
  previewRule,
  previewSample,
  type RehearsedPost,
} from '../../../drafting/triggers/rehearse.ts';
import { requireRule } from '../../../drafting/triggers/service.ts';
import { listDeliveries } from '../../../integrations/deliveries/log-store.ts';
import type { Delivery } from '../../../integrations/deliveries/store.ts';
import { AppError } from '../../../lib/app-error.ts';
import { cut as cutText } from '../../../lib/text.ts';
import { formatTime } from '../../../lib/time.ts';
import { contentTypeRules } from '../../../posts/model.ts';
import { formState, readFields } from '../../fields.ts';
import { fragment, type MemberVisit } from '../../page.ts';
import { counted, proseOf, Section, Status, When } from '../../view/elements.tsx';
import { Form, FormError, type Option, Select } from '../../view/form.tsx';
import { findEntry } from '../deliveries/one.tsx';
import { ChangeList } from '../posts/words.tsx';
import { Excerpt, placeOf, ruleOf, TriggerForm } from './form.tsx';

/** The time limit of a preview or a rehearsal, in milliseconds. */
const TIME_LIMIT_MS = 10_000;

/** Keeps a full log and a slow template from holding up a page for minutes. */
export function withinTime(compose: Compose): Compose {
  const end = performance.now() + TIME_LIMIT_MS;
  return async (recipe, material) => {
    if (performance.now() > end) {
      throw new AppError(503, `This took longer than ${TIME_LIMIT_MS / 1000} s and was stopped.`);
    }
    return compose(recipe, material);
  };
}

const MAX_OFFERED = 20;
const MAX_TITLE_LENGTH = 80;

/** The choice of the sample event, which is always there. */
const SAMPLE = 'sample';
/** Tries this many of the newest deliveries before the sample. */
const MAX_TRIED = 5;

export interface Preview {
  options: Option[];
  chosen: string;
  result: VNode;
  /** How to get real events. */
  hint: VNode | null;
  /** Why the typed rule cannot be saved. */
  error: AppError | undefined;
}

/** The posts that the typed rule would make of the chosen event. Changes nothing. */
export async function previewTyped(
  visit: MemberVisit,
  trigger: Trigger,
  values: URLSearchParams,
): Promise<Preview> {
  const { offered, chosen, isMissing } = await readChoice(visit, trigger, values);
  const options = [
    { value: SAMPLE, label: 'Sample event' },
    ...offered.map((each) => ({ value: each.id, label: nameOf(each, visit.look.zone) })),
  ];
  const integrationPath = `${visit.base}/integrations/${trigger.integrationId}`;
  const hint =
    offered.length > 0 ? null : (
      <p class="hint">
        No deliveries yet. <a href={integrationPath}>Send a test event</a> to preview a real one.
      </p>
    );
  const state = { options, hint, chosen: chosen?.id ?? SAMPLE };
  let rule: Trigger;
  try {
    const typed = ruleOf(readFields(TriggerForm, values), kinds[trigger.event]);
    rule = await requireRule({ ...trigger, ...typed }, visit.deps.check);
  } catch (error) {
    if (!(error instanceof AppError) || error.status !== 400) throw error;
    return { ...state, error, result: <p class="note">No preview: correct the errors in the form first.</p> };
  }
  if (isMissing) {
    return {
      ...state,
      error: undefined,
      result: <FormError error="This delivery is no longer in the log." />,
    };
  }
  const isChosen = choiceIn(visit, values) !== null;
  const { delivery, result } = await firstResult(visit, rule, chosen, isChosen ? [] : offered);
  return { ...state, chosen: delivery?.id ?? SAMPLE, error: undefined, result };
}

/** The preview of the stored templates, for members. */
export async function renderPreview(
  visit: MemberVisit,
  trigger: Trigger,
  path: string,
  values: URLSearchParams,
) {
  const { options, chosen, hint, result } = await previewTyped(visit, trigger, values);
  return (
    <Section id="preview" title="Preview">
      <Form isGet to={`${path}#preview`} button="Preview template" kind="" layout="bar ends">
        <Select label="Event" name="preview" value={chosen} options={options} />
      </Form>
      {hint}
      {result}
    </Section>
  );
}

function choiceIn({ url }: MemberVisit, values: URLSearchParams): string | null {
  return values.get('preview') ?? url.searchParams.get('preview');
}

async function readChoice(visit: MemberVisit, { integrationId }: Trigger, values: URLSearchParams) {
  const { deps, organization } = visit;
  const filter = { integrationId, status: 'processed' } as const;
  const newest = await deps.db.read((tx) =>
    listDeliveries(tx, organization.id, filter, { limit: MAX_OFFERED, page: 1 }),
  );
  const id = choiceIn(visit, values);
  const chosen = id === null || id === SAMPLE ? null : await findEntry(visit, id);
  // A ping has no event, and a replay has the event of the delivery that it repeats.
  const offered = newest.filter(({ payload, replayOf }) => payload.data !== null && replayOf === null);
  if (chosen !== null && !offered.some((each) => each.id === chosen.id)) offered.unshift(chosen);
  return { offered, chosen, isMissing: id !== null && id !== SAMPLE && chosen === null };
}

/** Of the chosen delivery, or of the newest of `others` that makes a post; otherwise of the sample. */
async function firstResult(
  visit: MemberVisit,
  rule: Trigger,
  chosen: Delivery | null,
  others: readonly Delivery[],
) {
  const { deps } = visit;
  // A failure is shown with the sample.
  const found = await previewFirst(deps, withinTime(deps.compose), rule, others.slice(0, MAX_TRIED)).catch(
    () => null,
  );
  if (found !== null) {
    return { delivery: found.delivery, result: await renderPosts(visit, async () => found.posts) };
  }
  const now = deps.clock.now().toISOString();
  const result = await renderPosts(visit, async (compose) =>
    chosen === null
      ? [await previewSample(deps, compose, rule, now)]
      : previewRule(deps, compose, rule, chosen),
  );
  return { delivery: chosen, result };
}

/** The preview alone, for the script. An error names its line, and links there. */
export async function previewFragment(visit: MemberVisit, trigger: Trigger, values: URLSearchParams) {
  const { error, result } = await previewTyped(visit, trigger, values);
  if (error === undefined) return fragment(result);
  const { fields, problem } = formState(TriggerForm, values, error);
  const wrong = [fields.titleTemplate, fields.bodyTemplate].filter((field) => field.error !== null);
  return fragment(
    <div class="problem">
      {wrong.length === 0 && <p>{typeof problem === 'string' ? problem : problem?.[0]?.error}</p>}
      {wrong.map(({ name, value = '', error: sentence }) => {
        const place = placeOf(error, name);
        return (
          <>
            <p>
              <a
                href={`#field-${name}`}
                data-template-error={name}
                data-line={place?.line}
                data-column={place?.column}
              >
                {sentence}
              </a>
            </p>
            {place && <Excerpt source={value.replaceAll('\r\n', '\n')} {...place} />}
          </>
        );
      })}
    </div>,
  );
}

function nameOf({ title, createdAt }: Delivery, zone: string): string {
  const name = title.length > MAX_TITLE_LENGTH ? `${cutText(title, MAX_TITLE_LENGTH)}…` : title;
  return `${name || 'Untitled'} (${formatTime(createdAt, zone, 'second')})`;
}

export const MAX_SHOWN = 20;

/** In place of a post. Throws what is not about the trigger or its templates. */
export function whyNoPost(error: unknown): VNode {
  if (isRefusal(error, 'no_post')) return <p class="note">No post: {describeNoPost(error.details)}.</p>;
  if (error instanceof AppError) return <FormError error={error.message} />;
  throw error;
}

/** The result of a preview: its posts, or why there are none. */
async function renderPosts(
  { deps }: MemberVisit,
  work: (compose: Compose) => Promise<RehearsedPost[]>,
): Promise<VNode> {
  try {
    const posts = (await work(withinTime(deps.compose))).reverse();
    const shown: VNode[] = [];
    for (const post of posts.slice(0, MAX_SHOWN)) shown.push(await trialPost(deps, post));
    return (
      <>
        {posts.length > 1 && <p>{counted(posts.length, 'post')}, newest first.</p>}
        {shown}
        {posts.length > MAX_SHOWN && <p class="hint">…and {posts.length - MAX_SHOWN} older ones.</p>}
      </>
    );
  } catch (error) {
    return whyNoPost(error);
  }
}

/** A post that a trigger would make, rendered for readers. */
export async function trialPost(
  deps: Pick<MemberVisit['deps'], 'publicUrl' | 'clock'>,
  post: RehearsedPost,
): Promise<VNode> {
  const { title, contentType, status, subject, createdAt } = post;
  const markdown = cut(post.markdown);
  return (
    <article class="card pad trial" dir="auto">
      <h3 class="flat">{title}</h3>
      <p class="bar dim">
        <Status status={status} />
        <span>
          {contentTypeRules[contentType].name}, {subject}, <When at={createdAt} />
        </span>
      </p>
      {contentTypeRules[contentType].pastedInto !== null ? (
        <div class="prose plain">{cut(post.content)}</div>
      ) : (
        await proseOf(deps, markdown)
      )}
      <ChangeList changes={post.leftOut} />
      <details class="more">
        <summary>
          Markdown<span class="hidden">: {title}</span>
        </summary>
        <pre class="wrap">{markdown}</pre>
      </details>
    </article>
  );
}

const MAX_SHOWN_LENGTH = 10_000;

/** Shows the beginning of a post, cut at the end of a line, so that no link or fence is cut in two. */
function cut(text: string): string {
  if (text.length <= MAX_SHOWN_LENGTH) return text;
  const end = text.lastIndexOf('\n', MAX_SHOWN_LENGTH);
  return `${text.slice(0, end > 0 ? end : MAX_SHOWN_LENGTH).toWellFormed()}\n\n…`;
}

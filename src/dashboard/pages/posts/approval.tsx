import { Type } from '@sinclair/typebox';
import type { ComponentChildren } from 'preact';
import { compareTexts } from '../../../drafting/suggestions.ts';
import type { AppError } from '../../../lib/app-error.ts';
import type { Member } from '../../../people/permission.ts';
import {
  approvalOf,
  approvePost,
  declineApproval,
  MAX_NOTE,
  withdrawApproval,
} from '../../../posts/approval-requests.ts';
import { type Approval, hashOfSeen, listApprovers } from '../../../posts/approval-rule.ts';
import { contentTypeRules, type OwnedPost } from '../../../posts/model.ts';
import { lastReached } from '../../../posts/versions.ts';
import { seenOf } from '../../edit.ts';
import { formState } from '../../fields.ts';
import { get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { postForm } from '../../submission.ts';
import { Difference } from '../../view/difference.tsx';
import { Clock, Facts, Link, More, proseOf, useVisit, When } from '../../view/elements.tsx';
import { Action, Danger, Form, FormError, Hidden, TextArea } from '../../view/form.tsx';
import { crumbsOf, requirePost } from './suggestion.tsx';
import { shown } from './words.tsx';

const APPROVAL = '/dashboard/:organizationId/posts/:postId/approval';

/** `seen`: the hash of the text that the page showed. */
const ApproveForm = Type.Object({ seen: Type.String(), publish: Type.Boolean() });
const DeclineForm = Type.Object({
  seen: Type.String(),
  note: Type.String({ label: 'Reason', subject: 'The reason', maxLength: MAX_NOTE }),
});

export const routes: readonly Page[] = [
  get(APPROVAL, 'member', (visit) => showApproval(visit)),

  postForm(APPROVAL, 'publisher', ApproveForm, showApproval, async (visit, { seen: hash, publish }) => {
    const { post, path } = await requirePost(visit);
    const { status } = await approvePost(visit.deps, post.id, { hash, publish });
    if (status === 'draft') return redirect(path, 'Approved. The post can be published as it is.');
    const isChange = post.status === 'published';
    return redirect(
      path,
      `Approved${isChange ? '' : ' and published'}. The API returns the text from now on.`,
    );
  }),

  postForm(`${APPROVAL}/decline`, 'publisher', DeclineForm, showApproval, async (visit, values) => {
    const { post, path } = await requirePost(visit);
    await declineApproval(visit.deps, post.id, { hash: values.seen, note: values.note });
    return redirect(path, 'Declined. The page of the post shows your reason.');
  }),

  post(`${APPROVAL}/withdraw`, 'member', async (visit) => {
    const { post, path } = await requirePost(visit);
    const isDone = await withdrawApproval(visit.deps, post.id);
    return redirect(path, isDone ? 'Withdrew the request.' : 'There is no request for this post any more.');
  }),
];

async function showApproval(visit: MemberVisit, error?: AppError) {
  const { deps, mayPublish, user } = visit;
  const { post, path } = await requirePost(visit);
  const { state, approval, approvers, base } = await deps.db.read(async (tx) => {
    const found = await approvalOf(tx, post);
    const approvers = found.approval === null ? [] : await listApprovers(tx, found.approval);
    // Readers see the one of a published post.
    const base = post.status === 'published' ? post : await lastReached(tx, post.id);
    return { ...found, approvers, base };
  });
  const text: OwnedPost = { ...post, ...approval?.change };
  const seen = hashOfSeen(text);
  const isWaiting = state === 'waiting';
  const isAsked = isWaiting && approval?.askedById !== null;
  const isOwn = approval?.askedById === user.id;
  const mayApprove = isAsked && approvers.some(({ id }) => id === user.id);
  const mayDecline = mayPublish && !(isOwn && isWaiting) && (isWaiting || state === 'approved');
  const { fields, problem } = formState(DeclineForm, visit.form, error?.status === 400 ? error : undefined);
  return view(
    { title: `Approval of ${post.title}`, heading: 'Approval', crumbs: crumbsOf({ post, path }), error },
    error?.status === 409 && <FormError error={`${error.message}.`} />,
    <Facts
      facts={[
        ['State', <ApprovalLine {...{ state, approval, post }} />],
        ['Waits for', isAsked && nameApprovers(approvers, user.id)],
        ['Type', contentTypeRules[text.contentType].name],
        ['Date', text.isDateSet ? <Clock at={text.createdAt} /> : 'When it is published'],
      ]}
    />,
    <article class="card pad" aria-label="Text">
      <h2 class="flat">{text.title}</h2>
      {await proseOf(deps, text.markdown)}
    </article>,
    base !== null && (
      <Difference
        label={
          post.status === 'published' ? 'Changes of what readers see' : 'Changes since the last approval'
        }
        lines={compareTexts(base, text)}
        otherwise={<a href={`${path}/versions`}>Open the version history</a>}
      />
    ),
    <More label="Text in Markdown">
      <pre class="stored">{text.markdown}</pre>
    </More>,
    <div class="stack after">
      {mayApprove && (
        <Form
          to={`${path}/approval`}
          button="Approve text"
          kind={post.status === 'draft' ? '' : 'go'}
          layout="bar"
        >
          <Hidden values={{ seen }} />
          {post.status === 'draft' && (
            <button type="submit" class="button go" name="publish" value="on">
              Approve and publish
            </button>
          )}
        </Form>
      )}
      {isWaiting && !isAsked && (
        <Action
          to={path}
          label="Ask for approval"
          kind="go"
          fields={{ status: 'asked', seen: seenOf(shown(post)) }}
        />
      )}
      {mayPublish && state === 'approved' && post.status === 'draft' && (
        <p>
          <a href={path}>Open the post</a> to publish or schedule it.
        </p>
      )}
      {mayDecline && !(state === 'approved' && post.status === 'published') && (
        <More label="Decline…" isOpen={problem !== null}>
          <Form to={`${path}/approval/decline`} button="Decline text" kind="bad" problem={problem} asks>
            <Hidden values={{ seen }} />
            <TextArea {...fields.note} more={{ rows: 3, required: true, maxLength: MAX_NOTE }} />
          </Form>
        </More>
      )}
      {isOwn && <WithdrawPart {...{ state, approval, path }} />}
    </div>,
  );
}

/** The people who may approve a text. */
function nameApprovers(approvers: readonly Member[], userId: string): string {
  if (approvers.length === 0) {
    return 'Nobody: every publisher and owner asked for it or wrote some of it. An owner can invite another publisher.';
  }
  const own = approvers.toSorted((one, other) => Number(other.id === userId) - Number(one.id === userId));
  const names = own.map(({ id, email }) => (id === userId ? 'You' : email));
  const shownNames = names.slice(0, 5);
  const more = names.length - shownNames.length;
  return [...shownNames, ...(more > 0 ? [`${more} more`] : [])].join(' or ');
}

/** For who asked. */
function WithdrawPart({
  state,
  approval,
  path,
}: Pick<FoundApproval, 'state' | 'approval'> & { path: string }) {
  if (approval?.change == null) {
    return state === 'waiting' && <Action to={`${path}/approval/withdraw`} label="Withdraw request" />;
  }
  return (
    <Danger to={`${path}/approval/withdraw`} label="Discard change…" button="Discard change" isButton>
      This forgets your change. Readers go on seeing the text before.
    </Danger>
  );
}

type State = FoundApproval & { post: OwnedPost };

function ApprovalLine({ state, approval, post }: State): ComponentChildren {
  if (approval === null) return 'Needs approval.';
  const { askedBy, askedById, askedAt, decidedBy, decidedAt, note, change } = approval;
  if (state === 'waiting' && askedById === null) {
    return (
      <>
        {askedBy} asked for approval <When at={askedAt} />. It takes two people: one asks, another approves.
      </>
    );
  }
  if (state === 'waiting') {
    return (
      <>
        {askedBy} asked for the approval of {change === null ? 'this text' : 'a change'} <When at={askedAt} />
        .
      </>
    );
  }
  if (state === 'declined') {
    return (
      <>
        {decidedBy} declined {change === null ? 'the text' : `the change by ${askedBy}`}
        {decidedAt && (
          <>
            {' '}
            <When at={decidedAt} />
          </>
        )}
        : {note}
      </>
    );
  }
  if (state === 'approved') {
    return (
      <>
        Approved by {decidedBy} {decidedAt && <When at={decidedAt} />}.
      </>
    );
  }
  if (change !== null) return `The post changed after ${askedBy} asked for the approval of a change.`;
  return post.status === 'draft' ? 'Needs approval: it changed after the last request.' : 'Published.';
}

export type FoundApproval = Awaited<ReturnType<typeof approvalOf>>;

/** Null where publishing needs no second person, unless a change still waits from when it did. */
export async function readApproval({ deps, organization }: MemberVisit, post: OwnedPost) {
  const found = await deps.db.read((tx) => approvalOf(tx, post));
  const isLeft = found.state === 'waiting' && hasChange(found.approval);
  return organization.needsApproval || isLeft ? found : null;
}

const hasChange = (approval: Approval | null) => approval !== null && approval.change !== null;

/** The line and where to read the text, beside the editor of a post. */
export function ApprovalPart({ path, ...found }: State & { path: string }) {
  const { user } = useVisit();
  if (found.post.status === 'published' && !hasChange(found.approval)) {
    return <p class="hint">Readers see a change once another person has approved it.</p>;
  }
  const { state, approval } = found;
  const isWaiting = state === 'waiting' && approval?.askedById !== null;
  return (
    <div class="approval">
      <p>
        <ApprovalLine {...found} />
      </p>
      {(isWaiting || hasChange(approval)) && (
        <p>
          <Link to={`${path}/approval`}>
            {isWaiting && approval?.askedById !== user.id ? 'Review text' : 'Show text'}
          </Link>
        </p>
      )}
    </div>
  );
}

import { Type } from '@sinclair/typebox';
import type { ComponentChildren } from 'preact';
import { compareTexts } from '../../../drafting/suggestions.ts';
import type { AppError } from '../../../lib/app-error.ts';
import { type Approval, hashOfSeen, isOwnText } from '../../../posts/approval.ts';
import {
  approvalOf,
  approvePost,
  MAX_NOTE,
  refuseApproval,
  withdrawApproval,
} from '../../../posts/approve.ts';
import { contentTypeRules, type OwnedPost } from '../../../posts/model.ts';
import { findVersion } from '../../../posts/versions.ts';
import { formState } from '../../fields.ts';
import { get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { postForm } from '../../submission.ts';
import { Difference } from '../../view/difference.tsx';
import { Clock, Facts, Link, More, proseOf, useVisit, When } from '../../view/elements.tsx';
import { Action, Form, FormError, Hidden, TextArea } from '../../view/form.tsx';
import { requirePost } from './suggestion.tsx';

// A second person reads a text and approves or refuses it.

const APPROVAL = '/dashboard/:organizationId/posts/:postId/approval';

/** `seen`: the hash of the text that the page showed. */
const ApproveForm = Type.Object({ seen: Type.String(), publish: Type.Boolean() });
const RefuseForm = Type.Object({
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

  postForm(`${APPROVAL}/refuse`, 'publisher', RefuseForm, showApproval, async (visit, values) => {
    const { post, path } = await requirePost(visit);
    await refuseApproval(visit.deps, post.id, { hash: values.seen, note: values.note });
    return redirect(path, 'Refused. The page of the post shows your reason.');
  }),

  post(`${APPROVAL}/withdraw`, 'member', async (visit) => {
    const { post, path } = await requirePost(visit);
    const isDone = await withdrawApproval(visit.deps, post.id);
    return redirect(path, isDone ? 'Withdrew the request.' : 'Nobody asks to approve this post any more.');
  }),
];

async function showApproval(visit: MemberVisit, error?: AppError) {
  const { deps, mayPublish } = visit;
  const { post, path } = await requirePost(visit);
  const { state, approval, isOwn, base } = await deps.db.read(async (tx) => {
    const found = await approvalOf(tx, post);
    const { approval } = found;
    const isOwn = approval !== null && (await isOwnText(tx, approval, deps.actor));
    const versionId = approval?.approvedVersionId;
    // Readers see the one of a published post.
    const base =
      post.status === 'published' ? post : versionId && (await findVersion(tx, post.id, versionId));
    return { ...found, isOwn, base: base || null };
  });
  const text: OwnedPost = { ...post, ...approval?.change };
  const crumbs = [
    { to: 'posts', label: 'Posts' },
    { to: path, label: post.title },
  ];
  const seen = hashOfSeen(text);
  const isWaiting = state === 'waiting' && approval?.askedById !== null;
  const { fields, problem } = formState(RefuseForm, visit.form, error?.status === 400 ? error : undefined);
  return view(
    { title: `Approval of ${post.title}`, heading: 'Approval', crumbs, error },
    error?.status === 409 && <FormError error={`${error.message}.`} />,
    <Facts
      facts={[
        ['State', <ApprovalLine {...{ state, approval, post }} />],
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
    <details>
      <summary>Text in Markdown</summary>
      <pre class="stored">{text.markdown}</pre>
    </details>,
    isWaiting && (
      <div class="stack after">
        {!mayPublish && <p>A publisher or an owner approves it.</p>}
        {mayPublish && isOwn && (
          <p>You asked for this approval or wrote some of the text, so somebody else must approve it.</p>
        )}
        {mayPublish && !isOwn && (
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
        {mayPublish && (
          <More label="Refuse…" isOpen={problem !== null}>
            <Form to={`${path}/approval/refuse`} button="Refuse text" kind="bad" problem={problem} asks>
              <Hidden values={{ seen }} />
              <TextArea {...fields.note} more={{ rows: 3, required: true, maxLength: MAX_NOTE }} />
            </Form>
          </More>
        )}
        {approval?.askedById === visit.user.id && (
          <Action to={`${path}/approval/withdraw`} label="Withdraw request" />
        )}
      </div>
    ),
  );
}

type State = FoundApproval & { post: OwnedPost };

/** How the approval stands, in one line. */
function ApprovalLine({ state, approval, post }: State): ComponentChildren {
  if (approval === null) return 'Needs approval.';
  const { askedBy, askedById, askedAt, decidedBy, decidedAt, note, change } = approval;
  if (state === 'waiting' && askedById === null) {
    return (
      <>
        Needs approval by two people, as {askedBy} asked <When at={askedAt} />: one asks, another approves.
      </>
    );
  }
  if (state === 'waiting') {
    return (
      <>
        {change === null ? 'Waiting' : 'A change of this post is waiting'} for approval, as {askedBy} asked{' '}
        <When at={askedAt} />.
      </>
    );
  }
  if (state === 'refused') {
    return (
      <>
        {decidedBy} refused {change === null ? 'the text' : `a change by ${askedBy}`}: {note}
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
  if (change !== null) return 'The post changed after somebody asked to approve this change.';
  return post.status === 'draft' ? 'Needs approval: it changed after the last request.' : 'Published.';
}

export type FoundApproval = Awaited<ReturnType<typeof approvalOf>>;

/** Null where publishing needs no second person. */
export const readApproval = ({ deps, organization }: MemberVisit, post: OwnedPost) =>
  organization.needsApproval ? deps.db.read((tx) => approvalOf(tx, post)) : null;

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

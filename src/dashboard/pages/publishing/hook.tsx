import {
  findLastAttempt,
  getMessage,
  hasFailed,
  listAttempts,
  listMessages,
} from '../../../readers/hooks/message-store.ts';
import {
  describeHook,
  describeOutcome,
  getHook,
  type Hook,
  type HookMessage,
  isDeploy,
  kindWords,
  messageStatus,
  subjectWords,
  typeWords,
} from '../../../readers/hooks/model.ts';
import type { Outcome } from '../../../readers/hooks/request.ts';
import {
  deleteHook,
  resendFailed,
  resendMessage,
  rotateSecret,
  sendTest,
  switchHook,
} from '../../../readers/hooks/service.ts';
import { get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { once } from '../../submission.ts';
import { counted, Exactly, Facts, Link, Section, Status, When } from '../../view/elements.tsx';
import { Action, Danger } from '../../view/form.tsx';
import { dateColumn, NumberedPager, pageIn, Table } from '../../view/list.tsx';
import { crumbs, secretPage } from './hooks.tsx';

const PATH = '/dashboard/:organizationId/publishing/hooks/:hookId';
const PAGE_SIZE = 50;
const MAX_PAGE = 1_000;

export const routes: readonly Page[] = [
  get(PATH, 'member', async (visit) => showHook(visit, await requireHook(visit))),

  post(`${PATH}/test`, 'publisher', async (visit) => {
    const hook = await requireHook(visit);
    const outcome = await sendTest(visit.deps, hook.id);
    if (outcome.problem !== null) return showHook(visit, hook, outcome);
    return redirect(pathOf(hook), `Test message sent. ${describeOutcome(outcome)}`);
  }),

  ...(['enable', 'disable'] as const).map((name) =>
    post(`${PATH}/${name}`, 'owner', async (visit) => {
      const hook = await requireHook(visit);
      await switchHook(visit.deps, hook.id, name === 'enable');
      const done = name === 'enable' ? 'Hook enabled.' : 'Hook disabled. Its queued messages are not sent.';
      return redirect(pathOf(hook), done);
    }),
  ),

  post(`${PATH}/rotate`, 'owner', async (visit) => {
    const { deps, form } = visit;
    const hook = await requireHook(visit);
    const rotated = await once(deps, form.get('mark'), () => rotateSecret(deps, hook.id));
    if (rotated === null) return redirect(pathOf(hook), 'The secret was already rotated by this form.');
    return secretPage({ ...hook, secret: rotated.secret }, 'has a new secret');
  }),

  post(`${PATH}/delete`, 'owner', async (visit) => {
    const { id, name } = await requireHook(visit);
    await deleteHook(visit.deps, id);
    return redirect('publishing/hooks', `“${name}” is deleted.`);
  }),

  post(`${PATH}/resend`, 'publisher', async (visit) => {
    const hook = await requireHook(visit);
    const sent = await resendFailed(visit.deps, hook.id);
    const done = sent === 0 ? 'No failed messages.' : `Sending ${counted(sent, 'message')} again.`;
    return redirect(pathOf(hook), done);
  }),

  get(`${PATH}/messages/:messageId`, 'member', showMessage),

  post(`${PATH}/messages/:messageId/resend`, 'publisher', async (visit) => {
    const hook = await requireHook(visit);
    const { messageId = '' } = visit.params;
    await resendMessage(visit.deps, hook.id, messageId);
    return redirect(`${pathOf(hook)}/messages/${messageId}`, 'Sending the message again.');
  }),
];

/** Throws `AppError` 404, also for another organization's. */
function requireHook({ deps, organization, params }: MemberVisit): Promise<Hook> {
  return deps.db.read((tx) => getHook(tx, params.hookId ?? '', organization.id));
}

const pathOf = ({ id }: Hook) => `publishing/hooks/${id}`;

/** `test`: a test message failed. */
async function showHook({ deps, url, isOwner }: MemberVisit, hook: Hook, test?: Outcome) {
  const { id, name, kind, about, host, isEnabled, createdAt } = hook;
  const page = Math.min(pageIn(url.searchParams), MAX_PAGE);
  const { messages, isFailing, last } = await deps.db.read(async (tx) => ({
    messages: await listMessages(tx, id, { limit: PAGE_SIZE + 1, offset: (page - 1) * PAGE_SIZE }),
    isFailing: await hasFailed(tx, id),
    last: isEnabled ? null : await findLastAttempt(tx, id),
  }));
  const path = pathOf(hook);
  return view(
    {
      title: name,
      crumbs,
      tag: <Status status={isEnabled ? 'active' : 'disabled'} />,
      facts: describeHook(hook),
      actions: (
        <Action
          to={`${path}/test`}
          label={isDeploy(kind) ? 'Start test build' : 'Send test message'}
          busy="Sending…"
        />
      ),
    },
    test && (
      <div class="note" role="alert">
        <strong>The test message failed.</strong> {describeOutcome(test)}
        {test.response && <pre class="wrap">{test.response}</pre>}
      </div>
    ),
    last?.statusCode === 410 && (
      <p class="note">
        <strong>Tidings disabled this hook.</strong> The receiver responded 410 Gone, which means that it
        wants no more requests.
      </p>
    ),
    <Facts
      kind="row"
      facts={[
        ['Kind', kindWords[kind].name],
        ['Sends', subjectWords[about].name],
        ['Host', host],
        ['Created', <When at={createdAt} />],
        ['Hook ID', <code>{id}</code>],
      ]}
    />,
    <Section id="messages" title="Messages">
      {messages.length === 0 ? (
        <p class="hint">
          No messages yet.{' '}
          {about === 'posts'
            ? 'Publish a changelog post to send the first one.'
            : 'The next thing that needs attention sends the first one.'}
        </p>
      ) : (
        <Table
          caption="Messages, newest first"
          kind="messages"
          rows={messages.slice(0, PAGE_SIZE)}
          columns={[
            {
              title: 'Status',
              class: 'short',
              cell: (message) => <Status status={messageStatus(message)} />,
            },
            {
              title: about === 'posts' ? 'Post' : 'Item',
              isMain: true,
              cell: ({ id, type, title }) => (
                <Link to={`${path}/messages/${id}`}>
                  {typeWords[type]}: {title}
                </Link>
              ),
            },
            { title: 'Attempts', isLabeled: true, class: 'end', cell: ({ attempts }) => attempts },
            dateColumn(),
          ]}
        />
      )}
      {isFailing && isEnabled && (
        <div class="bar">
          <Action to={`${path}/resend`} label="Send all failed again" />
        </div>
      )}
      <NumberedPager page={page} hasMore={messages.length > PAGE_SIZE} path={path} />
    </Section>,
    isOwner && <DangerZone hook={hook} />,
  );
}

function DangerZone({ hook }: { hook: Hook }) {
  const { kind, isEnabled, host, name } = hook;
  const path = pathOf(hook);
  return (
    <Section id="danger" title="Danger zone">
      {kind === 'signed' && (
        <Danger label="Rotate secret" to={`${path}/rotate`} button="Rotate secret" isMild isOnce>
          Creates a new signing secret. The current one also signs each request for the next 24 hours.
        </Danger>
      )}
      {isEnabled ? (
        <Danger label="Disable hook" to={`${path}/disable`} button="Disable hook" isMild>
          Tidings sends no more messages until you enable the hook. Queued messages fail now; you can send
          them again later.
        </Danger>
      ) : (
        <Action to={`${path}/enable`} label="Enable hook" />
      )}
      <Danger label="Delete hook" to={`${path}/delete`} button="Delete hook">
        {host} gets no more requests. The messages of “{name}” are deleted too. You can't undo this.
      </Danger>
    </Section>
  );
}

async function showMessage(visit: MemberVisit) {
  const hook = await requireHook(visit);
  const { message, attempts } = await visit.deps.db.read(async (tx) => {
    const message = await getMessage(tx, hook.id, visit.params.messageId ?? '');
    return { message, attempts: await listAttempts(tx, message.id) };
  });
  const { id, type, title, state, postId, notice, createdAt, dueAt } = message;
  const path = pathOf(hook);
  return view(
    {
      title: `${typeWords[type]}: ${title}`,
      heading: title,
      crumbs: [...crumbs, { to: path, label: hook.name }],
      tag: <Status status={messageStatus(message)} />,
      facts: describeState(message, hook),
      actions: hook.isEnabled && state !== 'queued' && (
        <Action to={`${path}/messages/${id}/resend`} label="Send again" />
      ),
    },
    <Facts
      kind="row"
      facts={[
        ['Change', typeWords[type]],
        notice === null
          ? ['Post', <Link to={`posts/${postId}`}>{postId}</Link>]
          : ['Item', <a href={notice.link}>{notice.itemId ?? 'All'}</a>],
        ['Date', createdAt && <When at={createdAt} />],
        ['Next attempt', state === 'queued' && dueAt > 0 ? <When at={dueAt} /> : null],
        ['Message ID', <code>{id}</code>],
      ]}
    />,
    <Section id="attempts" title="Attempts">
      {attempts.length === 0 ? (
        <p class="hint">No requests yet.</p>
      ) : (
        <Table
          caption="Attempts, oldest first"
          kind="attempts"
          rows={attempts}
          columns={[
            {
              title: 'Status',
              class: 'short',
              cell: ({ problem }) => <Status status={problem === null ? 'sent' : 'failed'} />,
            },
            {
              title: 'Result',
              cell: ({ problem, statusCode, response }) => (
                <>
                  {problem ?? `Responded ${statusCode}.`}
                  {response && <pre class="wrap">{response}</pre>}
                </>
              ),
            },
            {
              title: 'Duration',
              isLabeled: true,
              class: 'end',
              cell: ({ durationMs }) => `${durationMs} ms`,
            },
            { title: 'Date', class: 'end dim', cell: ({ startedAt }) => <Exactly at={startedAt} /> },
          ]}
        />
      )}
    </Section>,
  );
}

function describeState({ state, attempts, notice }: HookMessage, { kind, isEnabled }: Hook): string {
  switch (state) {
    case 'sent':
      return 'The receiver accepted it.';
    case 'failed':
      if (!isEnabled) return 'Tidings does not send it: the hook is disabled.';
      return attempts === 0
        ? 'Not sent: the hook was disabled.'
        : `Tidings stopped trying after ${counted(attempts, 'attempt')}.`;
    case 'merged':
      if (notice !== null) return 'Not sent: the item cleared first, or was muted.';
      return isDeploy(kind)
        ? 'A later change started the build.'
        : 'Not announced: many posts were published at once.';
    case 'queued':
      if (attempts > 0) return 'The last attempt failed. Tidings will retry it.';
      return isDeploy(kind) ? 'The build starts after 30 seconds without changes.' : 'Waiting to be sent.';
  }
}

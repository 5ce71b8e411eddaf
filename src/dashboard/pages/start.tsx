/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import { listDeliveries } from '../../deliveries/log-store.ts';
import { listHistories } from '../../history/store.ts';
import { listIntegrations } from '../../integrations/store.ts';
import type { ApiKey } from '../../keys/model.ts';
import { AppError } from '../../lib/app-error.ts';
import { listProviders } from '../../providers/index.ts';
import { findProgress } from '../../triggers/progress-store.ts';
import { get, type MemberVisit, type Page, view } from '../page.ts';
import { LinkButton, ToCopy } from '../view/elements.tsx';
import { ImportReleases } from './history/start.tsx';

/** The way from a new account to a published post and a first API call. */
export const startPages: readonly Page[] = [
  get('/dashboard/:organizationId/start', 'member', async (visit) => {
    const { base, organization, role } = visit;
    const steps = await readSteps(visit);
    const next = steps.findIndex(({ isDone }) => isDone === false);
    const isComplete = steps.every(({ isDone }) => isDone === true);
    return view(
      'First steps',
      <>
        <h1>{isComplete ? 'All set' : 'First steps'}</h1>
        <p class="lede">
          {isComplete
            ? 'You have finished every step. This page stays here for reference.'
            : 'From your first draft to a published post and your first API call.'}
        </p>
        <ol class="steps">
          {steps.map(({ title, isDone, todo, command, form, button, isForMembers, done }, index) => (
            <li
              class={`card pad step ${isDone === true ? 'done' : index === next ? 'next' : 'later'}`}
              aria-current={index === next ? 'step' : undefined}
            >
              <h2>
                {title}
                {isDone === true ? <span class="tag active">Done</span> : null}
              </h2>
              {isDone === null ? (
                <p class="dim">Unknown: Unkey does not respond. Reload the page in a moment.</p>
              ) : null}
              <p>{isDone === true ? done : todo}</p>
              {isDone === true || command === undefined ? null : <ToCopy text={command} />}
              {isDone !== true && form !== undefined && role === 'owner' ? form : null}
              {isDone === true || (button === undefined && form === undefined) ? null : role === 'owner' ||
                isForMembers ? (
                button && (
                  // The style sheet gives the next step's button the accent.
                  <p>
                    <LinkButton to={`${base}/${button[0]}`} label={button[1]} />
                  </p>
                )
              ) : (
                <p class="dim">Ask an owner of {organization.name}.</p>
              )}
            </li>
          ))}
        </ol>
      </>,
    );
  }),
];

interface Step {
  title: string;
  /** Null: unknown, as the key service does not respond. */
  isDone: boolean | null;
  todo: string;
  command?: string;
  /** For owners. */
  form?: ComponentChildren;
  /** For owners. */
  button?: readonly [path: string, label: string] | undefined;
  /** Members can do it too. */
  isForMembers?: boolean;
  done: ComponentChildren;
}

async function readSteps(visit: MemberVisit): Promise<Step[]> {
  const {
    base,
    deps,
    organization: { id },
  } = visit;
  const keys = await deps.keys.listKeys(id).catch((error: unknown): ApiKey[] | null => {
    if (!(error instanceof AppError)) throw error;
    // The other steps do not depend on the keys.
    deps.log.warn({ err: error }, 'the keys could not be listed');
    return null;
  });
  const { progress, history, integration, delivery } = await deps.db.read(async (tx) => ({
    history: (await listHistories(tx, id, { limit: 1 }))[0],
    progress: await findProgress(tx, id),
    integration: (await listIntegrations(tx, id))[0],
    delivery: (await listDeliveries(tx, id, { status: 'processed' }, { limit: 1 }))[0],
  }));
  const link = (path: string, label: string) => <a href={`${base}/${path}`}>{label}</a>;
  const { isConnected, hasDelivery, hasTrigger, hasPost, hasPublished } = progress;
  const page = integration === undefined ? 'integrations' : `integrations/${integration.id}`;
  return [
    {
      title: 'Import your release history',
      isDone: hasPost || history?.status === 'done',
      todo:
        history === undefined
          ? 'Each past release becomes a draft with its own date. A public repository needs no token and no webhook.'
          : 'The last import has not finished.',
      form: history?.status === 'queued' ? undefined : <ImportReleases visit={visit} />,
      button: history === undefined ? undefined : [`import/${history.id}`, 'Open import'],
      done:
        history === undefined
          ? link('import', 'Import releases')
          : link(`import/${history.id}`, 'View the import'),
    },
    {
      title: `Connect ${listProviders('or')}`,
      isDone: isConnected,
      todo: 'With a token, Tidings creates the webhooks for you. Without one, paste a URL and a secret into the settings of the provider.',
      button: ['integrations', 'Connect provider'],
      done: link('integrations', 'View integrations'),
    },
    {
      title: 'Receive a delivery',
      isDone: hasDelivery,
      todo: isConnected
        ? 'Send a signed test event, or push to the repository.'
        : 'Connect a provider first. Then send a signed test event.',
      button: isConnected ? [`${page}#test`, 'Send test event'] : undefined,
      done: link('deliveries', 'View deliveries'),
    },
    {
      title: 'Get your first draft',
      isDone: hasPost,
      todo: hasTrigger
        ? 'Your trigger writes a draft when its event arrives. Send a test event to see one now.'
        : delivery === undefined
          ? 'A trigger turns events into drafts. Create one once a delivery has arrived.'
          : 'A trigger turns events into drafts. Open the newest delivery and create one.',
      button: hasTrigger
        ? [`${page}#test`, 'Send test event']
        : delivery === undefined
          ? undefined
          : [`deliveries/${delivery.id}`, 'Open delivery'],
      done: link('posts', 'View posts'),
    },
    {
      title: 'Publish a post',
      isDone: hasPublished,
      todo: hasPost
        ? 'Open a draft, edit its text, and publish it.'
        : 'Review your first draft here and publish it. You can also write a post yourself.',
      button: hasPost ? ['posts?status=draft', 'Review drafts'] : ['posts/~/new', 'Write post'],
      isForMembers: true,
      done: link('posts?status=published', 'View published posts'),
    },
    {
      title: 'Create an API key',
      isDone: keys?.some(({ status }) => status === 'active') ?? null,
      todo: 'Your site reads posts with a key. The next page shows the key and your first call.',
      button: ['settings/keys', 'Create New API Key'],
      done: link('settings/keys', 'View keys'),
    },
    {
      title: 'Call the API',
      isDone: keys?.some(({ lastUsedAt }) => lastUsedAt !== null) ?? null,
      todo: 'Run this in a terminal with your key:',
      command: `curl -H "Authorization: Bearer tdk_…" "${deps.publicUrl()}/v1/${id}/posts"`,
      done: (
        <>
          One of your keys has been used. <a href="/docs">The reference</a> lists all endpoints.
        </>
      ),
    },
  ];
}

import type { ComponentChildren } from 'preact';
import { findProgress } from '../../drafting/triggers/progress-store.ts';
import { listHistories } from '../../intake/history/store.ts';
import { listDeliveries } from '../../integrations/deliveries/log-store.ts';
import { listIntegrations } from '../../integrations/store.ts';
import { AppError } from '../../lib/app-error.ts';
import type { ApiKey } from '../../people/keys/store.ts';
import { DEMO_ORGANIZATION } from '../../people/organizations.ts';
import { listProviders } from '../../providers/index.ts';
import { readPublication } from '../../readers/public/service.ts';
import { get, type MemberVisit, type Page, view } from '../page.ts';
import { Icon, Link, LinkButton, ToCopy, useVisit } from '../view/elements.tsx';
import { ImportReleases } from './history.tsx';

function StepItem({ step, number, isNext }: { step: Step; number: number; isNext: boolean }) {
  const { title, isDone, todo, command, form, button, isForMembers, done } = step;
  const { isOwner, organization } = useVisit();
  const askOwner = <p class="dim">Ask an owner of {organization.name}.</p>;
  if (isDone === true) {
    return (
      <li class="step done">
        <span class="step-mark">
          <Icon name="check" />
        </span>
        <h2>
          {title}
          <span class="hidden">: done</span>
        </h2>
        <p>{done}</p>
      </li>
    );
  }
  return (
    <li class="step" aria-current={isNext ? 'step' : undefined}>
      <span class="step-mark" aria-hidden="true">
        {number}
      </span>
      <h2>{title}</h2>
      <div class="step-body">
        {isDone === null && <p class="dim">Unknown: Unkey does not respond. Reload the page in a moment.</p>}
        <p>{todo}</p>
        {command !== undefined && <ToCopy text={command} />}
        {isOwner ? form : null}
        {button === undefined ? null : isOwner || isForMembers ? (
          <p>
            <LinkButton to={button[0]} label={button[1]} kind={isNext ? 'go' : undefined} />
          </p>
        ) : (
          askOwner
        )}
        {form !== undefined && button === undefined && !isOwner && askOwner}
      </div>
    </li>
  );
}

interface Step {
  title: string;
  /** Null: unknown, as the key service does not respond. */
  isDone: boolean | null;
  todo: string;
  command?: string;
  /** For owners. */
  form?: ComponentChildren;
  isOptional?: boolean;
  /** For owners. */
  button?: readonly [path: string, label: string] | undefined;
  /** Members can do it too. */
  isForMembers?: boolean;
  done: ComponentChildren;
}

async function readSteps(visit: MemberVisit): Promise<Step[]> {
  const {
    deps,
    organization: { id },
  } = visit;
  const keys = await deps.keys.listKeys(id).catch((error: unknown): ApiKey[] | null => {
    if (!(error instanceof AppError)) throw error;
    // The other steps do not depend on the keys.
    deps.log.warn({ err: error }, 'the keys could not be listed');
    return null;
  });
  const { progress, history, integration, delivery, publication } = await deps.db.read(async (tx) => ({
    history: (await listHistories(tx, id, { limit: 1 }))[0],
    progress: await findProgress(tx, id),
    integration: (await listIntegrations(tx, id))[0],
    delivery: (await listDeliveries(tx, id, { status: 'processed' }, { limit: 1 }))[0],
    publication: await readPublication(tx, id),
  }));
  const link = (path: string, label: string) => <Link to={path}>{label}</Link>;
  const { isPageOn, isFeedOn } = publication;
  const { isConnected, hasDelivery, hasTrigger, hasPost, hasPublished } = progress;
  const page = integration === undefined ? 'integrations' : `integrations/${integration.id}`;
  return [
    {
      title: 'Import your release history',
      isDone: history?.status === 'done',
      // Until there is a post, it is the quickest way to one.
      isOptional: hasPost,
      todo:
        history === undefined
          ? 'Each past release becomes a draft with its own date. A public repository needs no token and no webhook.'
          : 'The last import has not finished.',
      form: history?.status === 'queued' ? undefined : <ImportReleases />,
      button: history === undefined ? undefined : [`import/${history.id}`, 'Open import'],
      done: link(`import/${history?.id}`, 'View the import'),
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
    ...(hasPublished
      ? [
          {
            title: 'Show your posts',
            isDone: isPageOn || isFeedOn,
            isOptional: true,
            todo: 'Switch on a public page, or feeds and a widget. Readers need no key and no account.',
            button: ['publishing', 'Set up public page'] as const,
            done: link('publishing', 'View addresses'),
          },
        ]
      : []),
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

export const routes: readonly Page[] = [
  get('/dashboard/:organizationId/start', 'member', async (visit) => {
    const steps = await readSteps(visit);
    const next = steps.findIndex(({ isDone, isOptional }) => isDone === false && !isOptional);
    const isDemo = visit.organization.id === DEMO_ORGANIZATION;
    const isComplete = steps.every(({ isDone, isOptional }) => isDone === true || isOptional === true);
    return view(
      {
        title: 'First steps',
        heading: isComplete && !isDemo ? 'All set' : 'First steps',
        facts: isDemo
          ? 'The demo did the checked steps. Now yours: import the releases of your repository, or connect it.'
          : isComplete
            ? 'You have finished every step. This page stays here for reference.'
            : 'From your first draft to a published post and your first API call.',
        actions: isDemo && visit.isOwner && (
          <LinkButton to="integrations" label="Connect your repository" kind="go" />
        ),
      },
      <ol class="card steps">
        {steps.map((step, index) => (
          <StepItem step={step} number={index + 1} isNext={index === next} />
        ))}
      </ol>,
    );
  }),
];

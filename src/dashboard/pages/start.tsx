/** @jsxRuntime automatic @jsxImportSource preact */

import type { ComponentChildren } from 'preact';
import { listDeliveries } from '../../deliveries/log-store.ts';
import type { Deps } from '../../deps.ts';
import { listIntegrations } from '../../integrations/store.ts';
import type { ApiKey } from '../../keys/model.ts';
import { AppError } from '../../lib/app-error.ts';
import { contentTypes, postStatuses } from '../../posts/model.ts';
import { tallyPosts } from '../../posts/store.ts';
import { listProviders } from '../../providers/index.ts';
import { get, type MemberVisit, type Page, view } from '../page.ts';
import { ToCopy } from '../view/elements.tsx';

/** The way from a new account to a first API call and a first draft. */
export const startPages: readonly Page[] = [
  get('/dashboard/:organizationId/start', 'member', async (visit) => {
    const steps = stepsOf(visit, await progressOf(visit.deps, visit.organization.id));
    const next = steps.findIndex(({ isDone }) => isDone === false);
    const isComplete = steps.every(({ isDone }) => isDone === true);
    return view(
      'First steps',
      <>
        <h1>{isComplete ? 'All set' : 'First steps'}</h1>
        <p class="lede">
          {isComplete
            ? 'Your site can read posts, and Tidings receives your events. There is nothing left to set up.'
            : 'Make your first API call and your first draft in two minutes.'}
        </p>
        <ol class="steps">
          {steps.map((step, index) => (
            <StepItem key={step.title} step={step} isNext={index === next} />
          ))}
        </ol>
        {isComplete ? (
          <p class="after">
            <a class="button go" href={`${visit.base}/posts`}>
              To the posts
            </a>
          </p>
        ) : null}
      </>,
    );
  }),
];

/** Null: unknown, as the key service does not respond. */
interface Progress {
  hasKey: boolean | null;
  hasCall: boolean | null;
  hasIntegration: boolean;
  hasDelivery: boolean;
  hasPost: boolean;
}

async function progressOf(deps: Deps, organizationId: string): Promise<Progress> {
  const { db } = deps;
  const keys = await listKeysIfPossible(deps, organizationId);
  const deliveries = await listDeliveries(db, organizationId, {}, { limit: 1, page: 1 });
  const selection = { statuses: [...postStatuses], contentTypes: [...contentTypes] };
  const { totalItems } = await tallyPosts(db, organizationId, selection);
  return {
    hasKey: keys?.some(({ status }) => status === 'active') ?? null,
    hasCall: keys?.some(({ lastUsedAt }) => lastUsedAt !== null) ?? null,
    hasIntegration: (await listIntegrations(db, organizationId)).length > 0,
    hasDelivery: deliveries.length > 0,
    hasPost: totalItems > 0,
  };
}

/** The other steps do not depend on the keys. */
async function listKeysIfPossible({ keys, log }: Deps, organizationId: string): Promise<ApiKey[] | null> {
  try {
    return await keys.listKeys(organizationId);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    log.warn({ err: error }, 'the keys could not be listed');
    return null;
  }
}

interface Step {
  title: string;
  isDone: boolean | null;
  todo: ComponentChildren;
  done: ComponentChildren;
}

/** In order. Members see the steps that only owners can do, without the buttons. */
function stepsOf({ base, deps, organization, role }: MemberVisit, progress: Progress): Step[] {
  const forOwner = (text: string, button: ComponentChildren) =>
    role === 'owner' ? (
      <>
        <p>{text}</p>
        {button}
      </>
    ) : (
      <p class="dim">An owner of {organization.name} can do this.</p>
    );
  return [
    {
      title: 'Create a key',
      isDone: progress.hasKey,
      todo: forOwner(
        'Your site reads posts with a key. You get the line for a first call along with it.',
        <Go to={`${base}/settings/keys`} label="Create New API Key" />,
      ),
      done: <Done to={`${base}/settings/keys`} label="See the keys" />,
    },
    {
      title: 'Call the API',
      isDone: progress.hasCall,
      todo: (
        <>
          <p>Paste this into a terminal, with your key in it:</p>
          <ToCopy
            text={`curl -H "Authorization: Bearer tdk_…" "${deps.publicUrl()}/v1/${organization.id}/posts"`}
          />
        </>
      ),
      done: (
        <p>
          One of your keys has been used. <a href="/docs">The reference</a> lists all endpoints.
        </p>
      ),
    },
    {
      title: `Connect ${listProviders('or')}`,
      isDone: progress.hasIntegration,
      todo: forOwner(
        "With a token, Tidings creates the webhooks for you. By hand, you paste a URL and a secret into the provider's settings.",
        <Go to={`${base}/integrations`} label="Connect" />,
      ),
      done: <Done to={`${base}/integrations`} label="See the integrations" />,
    },
    {
      title: 'Receive a delivery',
      isDone: progress.hasDelivery,
      todo: forOwner(
        "Send a test event, signed like a real one, from the integration's page; or wait for a push.",
        <Go to={`${base}/integrations`} label="Send a test event" />,
      ),
      done: <Done to={`${base}/deliveries`} label="See the deliveries" />,
    },
    {
      title: 'Have something to publish',
      isDone: progress.hasPost,
      todo: (
        <>
          <p>A trigger turns events into drafts. You review a draft, and publish it.</p>
          {role === 'owner' ? <Go to={`${base}/integrations`} label="Set up a trigger" /> : null}
        </>
      ),
      done: <Done to={`${base}/posts`} label="See the posts" />,
    },
  ];
}

function StepItem({ step: { title, isDone, todo, done }, isNext }: { step: Step; isNext: boolean }) {
  const state = isDone === true ? 'done' : isNext ? 'next' : 'later';
  return (
    <li class={`card pad step ${state}`} aria-current={isNext ? 'step' : undefined}>
      <h2>
        {title}
        {isDone === true ? <span class="tag active">Done</span> : null}
      </h2>
      {isDone === null ? (
        <p class="dim">Unknown: Unkey, which keeps the keys, does not respond just now.</p>
      ) : null}
      {isDone === true ? done : todo}
    </li>
  );
}

/** The style sheet gives the next step's button the accent. */
function Go({ to, label }: { to: string; label: string }) {
  return (
    <p>
      <a class="button" href={to}>
        {label}
      </a>
    </p>
  );
}

function Done({ to, label }: { to: string; label: string }) {
  return (
    <p>
      <a href={to}>{label}</a>
    </p>
  );
}

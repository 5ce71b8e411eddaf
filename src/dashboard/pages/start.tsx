/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import { listDeliveries } from '../../deliveries/log-store.ts';
import { listIntegrations } from '../../integrations/store.ts';
import type { ApiKey } from '../../keys/model.ts';
import { AppError } from '../../lib/app-error.ts';
import { contentTypes, postStatuses } from '../../posts/model.ts';
import { tallyPosts } from '../../posts/store.ts';
import { listProviders } from '../../providers/index.ts';
import { get, type MemberVisit, type Page, view } from '../page.ts';
import { LinkButton, ToCopy } from '../view/elements.tsx';

/** The way from a new account to a first API call and a first draft. */
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
            ? 'There is nothing left to set up.'
            : 'Make your first API call and your first draft in two minutes.'}
        </p>
        <ol class="steps">
          {steps.map(({ title, isDone, todo, command, button, done }, index) => (
            <li
              class={`card pad step ${isDone === true ? 'done' : index === next ? 'next' : 'later'}`}
              aria-current={index === next ? 'step' : undefined}
            >
              <h2>
                {title}
                {isDone === true ? <span class="tag active">Done</span> : null}
              </h2>
              {isDone === null ? (
                <p class="dim">Unknown: Unkey, which keeps the keys, does not respond just now.</p>
              ) : null}
              <p>{isDone === true ? done : todo}</p>
              {isDone === true || command === undefined ? null : <ToCopy text={command} />}
              {isDone === true || button === undefined ? null : role === 'owner' ? (
                // The style sheet gives the next step's button the accent.
                <p>
                  <LinkButton to={`${base}/${button[0]}`} label={button[1]} />
                </p>
              ) : (
                <p class="dim">An owner of {organization.name} can do this.</p>
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
  button?: [path: string, label: string];
  done: ComponentChildren;
}

async function readSteps({ base, deps, organization: { id } }: MemberVisit): Promise<Step[]> {
  const keys = await deps.keys.listKeys(id).catch((error: unknown): ApiKey[] | null => {
    if (!(error instanceof AppError)) throw error;
    // The other steps do not depend on the keys.
    deps.log.warn({ err: error }, 'the keys could not be listed');
    return null;
  });
  const selection = { statuses: [...postStatuses], contentTypes: [...contentTypes] };
  const { integrations, deliveries, posts } = await deps.db.read(async (tx) => ({
    integrations: await listIntegrations(tx, id),
    deliveries: await listDeliveries(tx, id, {}, { limit: 1, page: 1 }),
    posts: await tallyPosts(tx, id, selection),
  }));
  const link = (path: string, label: string) => <a href={`${base}/${path}`}>{label}</a>;
  return [
    {
      title: 'Create an API key',
      isDone: keys?.some(({ status }) => status === 'active') ?? null,
      todo: 'Your site reads posts with a key. You get the line for a first call along with it.',
      button: ['settings/keys', 'Create New API Key'],
      done: link('settings/keys', 'View keys'),
    },
    {
      title: 'Call the API',
      isDone: keys?.some(({ lastUsedAt }) => lastUsedAt !== null) ?? null,
      todo: 'Paste this into a terminal, with your key in it:',
      command: `curl -H "Authorization: Bearer tdk_…" "${deps.publicUrl()}/v1/${id}/posts"`,
      done: (
        <>
          One of your keys has been used. <a href="/docs">The reference</a> lists all endpoints.
        </>
      ),
    },
    {
      title: `Connect ${listProviders('or')}`,
      isDone: integrations.length > 0,
      todo: "With a token, Tidings creates the webhooks for you. By hand, you paste a URL and a secret into the provider's settings.",
      button: ['integrations', 'Connect'],
      done: link('integrations', 'View integrations'),
    },
    {
      title: 'Receive a delivery',
      isDone: deliveries.length > 0,
      todo: "Send a signed test event from the integration's page, or wait for a push.",
      button: ['integrations', 'Send a test event'],
      done: link('deliveries', 'View deliveries'),
    },
    {
      title: 'Get your first draft',
      isDone: posts.totalItems > 0,
      todo: 'A trigger turns events into drafts. You review a draft, and publish it.',
      button: ['integrations', 'Set up a trigger'],
      done: link('posts', 'View posts'),
    },
  ];
}

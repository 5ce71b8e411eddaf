/** @jsxRuntime automatic @jsxImportSource preact */

import type { ComponentChildren } from 'preact';
import { listProviders } from '../../providers/index.ts';
import type { MemberVisit } from '../page.ts';
import { ToCopy } from '../view/copy.tsx';
import type { Progress } from './start.tsx';

export interface Step {
  title: string;
  isDone: boolean | null;
  /** What is there to do, and the button for it. */
  todo: ComponentChildren;
  /** Where to look once it is done. */
  done: ComponentChildren;
}

/** The steps in their order; what only owners can do is left to them. */
export function stepsOf(visit: MemberVisit, progress: Progress): Step[] {
  const { base, deps, organization, role } = visit;
  const byOwner = (what: ComponentChildren) =>
    role === 'owner' ? what : <p class="dim">An owner of {organization.name} can do this.</p>;
  const keysLink = <a href={`${base}/settings/keys`}>See the keys</a>;
  return [
    {
      title: 'Make a key',
      isDone: progress.hasKey,
      todo: byOwner(
        <>
          <p>Your site reads posts with a key. You get the line for a first call along with it.</p>
          <Go to={`${base}/settings/keys`} label="Create New API Key" />
        </>,
      ),
      done: <p>{keysLink}</p>,
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
          A key of yours has been used. <a href="/docs">The reference</a> says what else there is to ask for.
        </p>
      ),
    },
    {
      title: `Connect ${listProviders('or')}`,
      isDone: progress.hasIntegration,
      todo: byOwner(
        <>
          <p>
            With a token, Tidings makes the webhooks for you. By hand, you paste an address and a secret into
            the provider's settings.
          </p>
          <Go to={`${base}/integrations`} label="Connect" />
        </>,
      ),
      done: (
        <p>
          <a href={`${base}/integrations`}>See the integrations</a>
        </p>
      ),
    },
    {
      title: 'Receive a delivery',
      isDone: progress.hasDelivery,
      todo: byOwner(
        <>
          <p>Send a test event, signed like a real one, from the integration's page; or wait for a push.</p>
          <Go to={`${base}/integrations`} label="Send a test event" />
        </>,
      ),
      done: (
        <p>
          <a href={`${base}/deliveries`}>See what arrived</a>
        </p>
      ),
    },
    {
      title: 'Have something to publish',
      isDone: progress.hasPost,
      todo: (
        <>
          <p>A trigger makes drafts of what arrives. You read one over, and publish it.</p>
          {role === 'owner' ? <Go to={`${base}/integrations`} label="Set up a trigger" /> : null}
        </>
      ),
      done: (
        <p>
          <a href={`${base}/posts`}>See the posts</a>
        </p>
      ),
    },
  ];
}

/** The step that comes next has the accent: the style sheet gives it. */
function Go({ to, label }: { to: string; label: string }) {
  return (
    <p>
      <a class="button" href={to}>
        {label}
      </a>
    </p>
  );
}

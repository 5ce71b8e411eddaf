import type { HookKind, HookMessage } from './model.ts';

// What people read about hooks, in the dashboard and on the command line.

export const kindWords: Readonly<Record<HookKind, { name: string; does: string; urlHint: string }>> = {
  signed: {
    name: 'Signed request',
    does: 'Posts JSON with a signature when a public post is published, changed, unpublished or deleted.',
    urlHint: 'An https URL of your site or build server.',
  },
  netlify: {
    name: 'Netlify',
    does: 'Starts a build of the site 30 seconds after the last change.',
    urlHint:
      'Create a build hook under Project configuration, Build & deploy. The URL starts with https://api.netlify.com/build_hooks/.',
  },
  vercel: {
    name: 'Vercel',
    does: 'Starts a deployment of the site 30 seconds after the last change.',
    urlHint:
      "Create a deploy hook in the project's settings under Git. The URL starts with https://api.vercel.com/v1/integrations/deploy/.",
  },
  cloudflare: {
    name: 'Cloudflare',
    does: 'Starts a build of Pages or Workers 30 seconds after the last change.',
    urlHint:
      "Create a deploy hook in the project's settings under Builds. The URL starts with https://api.cloudflare.com/client/v4/.",
  },
  slack: {
    name: 'Slack',
    does: 'Announces each new post in a channel, with its title and link.',
    urlHint:
      'Create an incoming webhook for the channel. The URL starts with https://hooks.slack.com/services/.',
  },
  discord: {
    name: 'Discord',
    does: 'Announces each new post in a channel, with its title and link.',
    urlHint:
      "Create a webhook in the channel's settings under Integrations. The URL starts with https://discord.com/api/webhooks/.",
  },
};

export const typeWords: Readonly<Record<HookMessage['type'], string>> = {
  'post.published': 'Published',
  'post.changed': 'Changed',
  'post.unpublished': 'Unpublished',
  'post.deleted': 'Deleted',
};

/** The state of a message as a status word. */
export function messageStatus({ state, attempts }: Pick<HookMessage, 'state' | 'attempts'>): string {
  return state === 'queued' && attempts > 0 ? 'retrying' : state;
}

/** `Sent: 204 in 85 ms`, or why it failed. */
export function describeOutcome({
  statusCode,
  durationMs,
  problem,
}: {
  statusCode: number | null;
  durationMs: number;
  problem: string | null;
}): string {
  return problem ?? `Responded ${statusCode} in ${durationMs} ms.`;
}

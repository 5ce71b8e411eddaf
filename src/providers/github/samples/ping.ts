import type { SampleContext } from './context.ts';

const HOOK_ID = 470_118_305;

/** What GitHub sends when a webhook is set up. */
export function ping({ apiUrl, minutesAgo, common }: SampleContext): Record<string, unknown> {
  const self = `${apiUrl}/hooks/${HOOK_ID}`;
  return {
    zen: 'Keep it logically awesome.',
    hook_id: HOOK_ID,
    hook: {
      type: 'Repository',
      id: HOOK_ID,
      name: 'web',
      active: true,
      events: ['push', 'release', 'pull_request', 'create', 'issues', 'milestone', 'star'],
      config: {
        content_type: 'json',
        insecure_ssl: '0',
        secret: '********',
        url: 'https://tidings.example/api/webhooks/github',
      },
      updated_at: minutesAgo(1),
      created_at: minutesAgo(1),
      url: self,
      test_url: `${self}/test`,
      ping_url: `${self}/pings`,
      deliveries_url: `${self}/deliveries`,
      last_response: { code: null, status: 'unused', message: null },
    },
    ...common,
  };
}

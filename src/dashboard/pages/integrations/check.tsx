/** @jsxRuntime automatic @jsxImportSource preact */
import { type Diagnosis, diagnose } from '../../../integrations/doctor.ts';
import type { Integration } from '../../../integrations/model.ts';
import type { Check } from '../../../providers/api.ts';
import { get, type Page, view } from '../../page.ts';
import { Action } from '../../view/form.tsx';
import { integrationName } from '../deliveries/rows.tsx';
import { requireIntegration } from './find.ts';
import { forPeople } from './problem.ts';

/** Looks at all that an integration's deliveries depend on, and offers what helps. */
export const checkPage: Page = get(
  '/dashboard/:organizationId/integrations/:integrationId/check',
  'owner',
  async (visit) => {
    const { base, deps } = visit;
    const integration = await requireIntegration(visit);
    const path = `${base}/integrations/${integration.id}`;
    const diagnosis = await diagnose(deps, integration.id);
    return view(
      'Check',
      <>
        <p class="crumbs">
          <a href={`${base}/integrations`}>Integrations</a> /{' '}
          <a href={path}>{integrationName(integration)}</a>
        </p>
        <h1>{outcomeOf(diagnosis)}</h1>
        <p class="lede">
          Everything that deliveries of {integrationName(integration)} depend on, as it is just now. Nothing
          was changed.
        </p>
        <ul class="card rows checks">
          {worstFirst(diagnosis.checks).map((check) => (
            <CheckRow check={check} integration={integration} path={path} />
          ))}
        </ul>
        <p class="bar">
          <a class="button" href={`${path}/check`}>
            Check again
          </a>
        </p>
      </>,
      { section: 'integrations' },
    );
  },
);

function outcomeOf({ ok, checks }: Diagnosis): string {
  if (!ok) return 'Something is wrong';
  const odd = checks.filter(({ status }) => status !== 'ok').length;
  if (odd === 0) return 'All is as it should be';
  return odd === 1
    ? 'Nothing is wrong, but look at one thing'
    : `Nothing is wrong, but look at ${odd} things`;
}

function worstFirst(checks: readonly Check[]): Check[] {
  const order = ['failed', 'warning', 'ok'] as const;
  return order.flatMap((status) => checks.filter((check) => check.status === status));
}

const names: Readonly<Record<Check['name'], string>> = {
  enabled: 'Taking deliveries',
  reachability: 'Public address',
  hook: 'Webhook',
  'last-delivery': 'Last delivery',
  ping: 'Ping',
  secret: 'Secret',
  repository: 'Repository',
  missed: 'Missing deliveries',
};

const marks = {
  ok: { tag: 'active', word: 'In order' },
  warning: { tag: 'soon', word: 'Look at it' },
  failed: { tag: 'failed', word: 'Wrong' },
} as const;

function CheckRow({ check, integration, path }: { check: Check; integration: Integration; path: string }) {
  const { name, place, status, message } = check;
  const { tag, word } = marks[status];
  return (
    <li>
      <span class="mark-of">
        <span class={`tag ${tag}`}>{word}</span>
      </span>
      <div class="grow">
        <h2 class="label">{place === undefined ? names[name] : `${names[name]}: ${place}`}</h2>
        <p class="reason">{forPeople(message)}</p>
        <Help check={check} integration={integration} path={path} />
      </div>
    </li>
  );
}

/** What to do about it. Where the advice is a command, the button that does the same. */
function Help({ check, integration, path }: { check: Check; integration: Integration; path: string }) {
  const { advice, name, status } = check;
  if (advice === undefined) {
    return name === 'hook' && status === 'failed' && integration.hasToken ? (
      <a class="button" href={`${path}/token`}>
        Replace the token
      </a>
    ) : null;
  }
  switch (/\btidings (?:integration )?([a-z-]+) /.exec(advice)?.[1]) {
    case undefined:
      return <p class="hint">{advice}.</p>;
    case 'enable':
      return <Action to={`${path}/enable`} label="Enable" />;
    case 'repair':
      return integration.hasToken ? (
        <Action to={`${path}/repair`} label="Set up anew" busy="Setting up…" isOnce />
      ) : null;
    case 'rotate-secret':
      return <Action to={`${path}/secret`} label="Make a new secret" busy="Making it…" isOnce />;
    case 'set-token':
      return (
        <a class="button" href={`${path}/token`}>
          Give it a token
        </a>
      );
    case 'missed':
      return (
        <a class="button" href={`${path}/missed`}>
          See what is missing
        </a>
      );
    case 'send':
      return (
        <a class="button" href={`${path}#test`}>
          Send a test event
        </a>
      );
    default:
      return <p class="hint">{forPeople(advice)}</p>;
  }
}

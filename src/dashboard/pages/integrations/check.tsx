/** @jsxRuntime automatic @jsxImportSource preact */
import { type Diagnosis, diagnose, type Finding } from '../../../integrations/doctor.ts';
import type { Integration, IntegrationType } from '../../../integrations/model.ts';
import { describeFinding, fixes } from '../../../integrations/words.ts';
import { get, type Page, view } from '../../page.ts';
import { Action } from '../../view/form.tsx';
import { integrationName } from '../deliveries/rows.tsx';
import { requireIntegration } from './find.ts';
import { exactTime, problemOf, sentence } from './words.ts';

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
        <h1>{titleOf(diagnosis)}</h1>
        <p class="lede">
          Everything that deliveries of {integrationName(integration)} depend on, as it is just now. Nothing
          was changed.
        </p>
        <ul class="card rows checks">
          {worstFirst(diagnosis.findings).map((finding) => (
            <FindingRow finding={finding} integration={integration} path={path} />
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

function titleOf({ ok, findings }: Diagnosis): string {
  if (!ok) return 'Something is wrong';
  const odd = findings.filter(({ status }) => status !== 'ok').length;
  if (odd === 0) return 'All is as it should be';
  return odd === 1
    ? 'Nothing is wrong, but look at one thing'
    : `Nothing is wrong, but look at ${odd} things`;
}

function worstFirst(findings: readonly Finding[]): Finding[] {
  const order = ['failed', 'warning', 'ok'] as const;
  return order.flatMap((status) => findings.filter((finding) => finding.status === status));
}

const names: Readonly<Record<Finding['name'], string>> = {
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

interface FindingProps {
  finding: Finding;
  integration: Integration;
  path: string;
}

function FindingRow({ finding, integration, path }: FindingProps) {
  const { name, place, status } = finding;
  const { tag, word } = marks[status];
  return (
    <li>
      <span class="mark-of">
        <span class={`tag ${tag}`}>{word}</span>
      </span>
      <div class="grow">
        <h2 class="label">{place === undefined ? names[name] : `${names[name]}: ${place}`}</h2>
        <p class="reason">{messageOf(finding, integration.type)}</p>
        <Help finding={finding} path={path} />
      </div>
    </li>
  );
}

function messageOf(finding: Finding, type: IntegrationType): string {
  return finding.code === 'hook_check_failed'
    ? problemOf(finding.problem, type)
    : sentence(describeFinding(finding, exactTime));
}

/** The button or link that corrects it, or advice. */
function Help({ finding: { name, status, fix }, path }: Omit<FindingProps, 'integration'>) {
  switch (fix) {
    case 'enable':
      return <Action to={`${path}/enable`} label="Enable" />;
    case 'repair':
      return <Action to={`${path}/repair`} label="Set up anew" busy="Setting up…" isOnce />;
    case 'rotate_secret':
      return <Action to={`${path}/secret`} label="Make a new secret" busy="Making it…" isOnce />;
    case 'set_token':
      return <Link to={`${path}/token`} label="Give it a token" />;
    case 'redeliver':
      return <Link to={`${path}/missed`} label="See what is missing" />;
    case 'send_test':
      return <Link to={`${path}#test`} label="Send a test event" />;
    case undefined:
      return name === 'hook' && status === 'failed' ? (
        <Link to={`${path}/token`} label="Replace the token" />
      ) : null;
    default:
      return <p class="hint">{fixes[fix]}.</p>;
  }
}

function Link({ to, label }: { to: string; label: string }) {
  return (
    <a class="button" href={to}>
      {label}
    </a>
  );
}

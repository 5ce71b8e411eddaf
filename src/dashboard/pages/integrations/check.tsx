/** @jsxRuntime automatic @jsxImportSource preact */
import { diagnose, type Finding } from '../../../integrations/doctor.ts';
import { type IntegrationType, integrationName } from '../../../integrations/model.ts';
import { describeFinding, fixes } from '../../../integrations/words.ts';
import { get, type Page } from '../../page.ts';
import { counted } from '../../view/elements.tsx';
import { Action } from '../../view/form.tsx';
import { PATH, requireIntegration, subpage } from './card.tsx';
import { exactTime, problemOf, sentence } from './words.ts';

/** The results of the integration doctor, with a button or link for each fix. */
export const checkPages: readonly Page[] = [
  get(`${PATH}/check`, 'owner', async (visit) => {
    const integration = await requireIntegration(visit);
    const path = `${visit.base}/integrations/${integration.id}`;
    const { findings } = await diagnose(visit.deps, integration.id);
    return subpage(
      visit,
      integration,
      { title: 'Check', heading: headingOf(findings) },
      <>
        <p class="lede">
          The current state of everything that deliveries of {integrationName(integration)} depend on. Nothing
          was changed.
        </p>
        <ul class="card rows checks">
          {(['failed', 'warning', 'ok'] as const).flatMap((status) =>
            findings
              .filter((finding) => finding.status === status)
              .map((finding) => <FindingRow finding={finding} type={integration.type} path={path} />),
          )}
        </ul>
        <p class="bar">
          <Link to={`${path}/check`} label="Check again" />
        </p>
      </>,
    );
  }),
];

function headingOf(findings: readonly Finding[]): string {
  const countOf = (each: Finding['status']) => findings.filter(({ status }) => status === each).length;
  const [failed, warnings] = [countOf('failed'), countOf('warning')];
  const parts = [failed > 0 && counted(failed, 'problem'), warnings > 0 && counted(warnings, 'warning')];
  return parts.filter(Boolean).join(', ') || 'Everything is OK';
}

const names: Readonly<Record<Finding['name'], string>> = {
  enabled: 'Accepts deliveries',
  reachability: 'Public address',
  hook: 'Webhook',
  'last-delivery': 'Last delivery',
  ping: 'Ping',
  secret: 'Secret',
  repository: 'Repository',
  missed: 'Missing deliveries',
};

const marks = {
  ok: { tag: 'active', word: 'OK' },
  warning: { tag: 'soon', word: 'Warning' },
  failed: { tag: 'failed', word: 'Problem' },
} as const;

function FindingRow({ finding, type, path }: { finding: Finding; type: IntegrationType; path: string }) {
  const { tag, word } = marks[finding.status];
  const name = names[finding.name];
  return (
    <li>
      <span class="mark-of">
        <span class={`tag ${tag}`}>{word}</span>
      </span>
      <div class="grow">
        <h2 class="label">{finding.place === undefined ? name : `${name}: ${finding.place}`}</h2>
        <p class="reason">
          {finding.code === 'hook_check_failed'
            ? problemOf(finding.problem, type)
            : sentence(describeFinding(finding, exactTime))}
        </p>
        <Fix finding={finding} path={path} />
      </div>
    </li>
  );
}

function Fix({ finding: { name, status, fix }, path }: { finding: Finding; path: string }) {
  switch (fix) {
    case 'enable':
      return <Action to={`${path}/enable`} label="Enable" />;
    case 'repair':
      return <Action to={`${path}/repair`} label="Set up again" busy="Setting up…" isOnce />;
    case 'rotate_secret':
      return <Action to={`${path}/secret`} label="Create new secret" busy="Creating it…" isOnce />;
    case 'set_token':
      return <Link to={`${path}/token`} label="Add a token" />;
    case 'redeliver':
      return <Link to={`${path}/missed`} label="View missed deliveries" />;
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

/** @jsxRuntime automatic @jsxImportSource preact */
import { diagnose, type Finding } from '../../../integrations/doctor.ts';
import { integrationName } from '../../../integrations/model.ts';
import { describeFinding, fixes } from '../../../integrations/words.ts';
import type { Page } from '../../page.ts';
import { counted, LinkButton } from '../../view/elements.tsx';
import { Action } from '../../view/form.tsx';
import { type IntegrationVisit, integrationPage, subpage } from './subpage.tsx';
import { exactTime, problemOf, sentence } from './words.ts';

/** The results of the integration doctor, with a button or link for each fix. */
export const routes: readonly Page[] = [
  integrationPage('check', async (visit) => {
    const { deps, integration, path } = visit;
    const { findings } = await diagnose(deps, integration.id);
    const { failed = [], warning = [], ok = [] } = Object.groupBy(findings, ({ status }) => status);
    const heading = [
      failed.length > 0 && counted(failed.length, 'problem'),
      warning.length > 0 && counted(warning.length, 'warning'),
    ];
    return subpage(
      visit,
      { title: 'Check', heading: heading.filter(Boolean).join(', ') || 'Everything is OK' },
      <>
        <p class="lede">
          Tidings checked everything that deliveries of {integrationName(integration)} depend on. It changed
          nothing.
        </p>
        <ul class="card rows checks">
          {[...failed, ...warning, ...ok].map((finding) => (
            <FindingRow finding={finding} visit={visit} />
          ))}
        </ul>
        <p class="bar">
          <LinkButton to={`${path}/check`} label="Check again" />
        </p>
      </>,
    );
  }),
];

const names: Readonly<Record<Finding['name'], string>> = {
  enabled: 'Accepts deliveries',
  reachability: 'Public address',
  hook: 'Webhook',
  'last-delivery': 'Last delivery',
  ping: 'Ping',
  secret: 'Secret',
  repository: 'Repository',
  missed: 'Missed deliveries',
  installation: 'Installation',
  polling: 'Polling',
};

const marks = {
  ok: { tag: 'active', word: 'OK' },
  warning: { tag: 'soon', word: 'Warning' },
  failed: { tag: 'failed', word: 'Problem' },
} as const;

function FindingRow({
  finding,
  visit: { integration, path },
}: {
  finding: Finding;
  visit: IntegrationVisit;
}) {
  const { name, status, place, fix } = finding;
  const { tag, word } = marks[status];
  const credential = integration.app === null ? 'replace_token' : 'replace_key';
  return (
    <li>
      <span class="mark-of">
        <span class={`tag ${tag}`}>{word}</span>
      </span>
      <div class="grow">
        <h2 class="label">{place === undefined ? names[name] : `${names[name]}: ${place}`}</h2>
        <p class="reason">
          {finding.code === 'hook_check_failed'
            ? problemOf(finding.problem, integration.type)
            : sentence(describeFinding(finding, exactTime))}
        </p>
        <Fix fix={fix ?? (name === 'hook' && status === 'failed' ? credential : undefined)} path={path} />
      </div>
    </li>
  );
}

/** What a fix leads to: a form with `busy`, which its button says while it waits, or another page. */
const buttons: Readonly<Record<string, { to: string; label: string; busy?: string }>> = {
  enable: { to: '/enable', label: 'Enable integration', busy: 'Enabling…' },
  repair: { to: '/repair', label: 'Repair webhooks', busy: 'Repairing…' },
  rotate_secret: { to: '/secret', label: 'Create new secret', busy: 'Creating secret…' },
  set_token: { to: '/token', label: 'Add token' },
  replace_token: { to: '/token', label: 'Replace token' },
  replace_key: { to: '/key', label: 'Replace key' },
  install_app: { to: '', label: 'Open integration' },
  redeliver: { to: '/missed', label: 'View missed deliveries' },
  send_test: { to: '#test', label: 'Send test event' },
};

function Fix({ fix = '', path }: { fix: string | undefined; path: string }) {
  const button = buttons[fix];
  if (button === undefined) return fixes[fix] === undefined ? null : <p class="hint">{fixes[fix]}.</p>;
  const { to, label, busy } = button;
  if (busy === undefined) return <LinkButton to={`${path}${to}`} label={label} />;
  return <Action to={`${path}${to}`} label={label} busy={busy} isOnce />;
}

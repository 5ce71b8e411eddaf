import { setPollToken } from '../../../intake/polling/switch.ts';
import { setToken } from '../../../integrations/token.ts';
import { ChangeFailed, providerNames } from '../../../integrations/words.ts';
import { type IntegrationType, providerOf } from '../../../providers/index.ts';
import type { Phrase } from '../../../providers/provider.ts';
import type { Problem } from '../../fields.ts';
import { type MemberVisit, type Page, redirect } from '../../page.ts';
import { Field, Form, fieldProblem } from '../../view/form.tsx';
import { showIntegration } from './one.tsx';
import { describeConnected, formPages, type IntegrationVisit, subpage, TOKEN_FIELD } from './subpage.tsx';
import { tokenLabel } from './webhooks.tsx';

/** The form for an integration's first token, or for a new one. */
export const routes: readonly Page[] = [
  ...formPages('token', showForm, async ({ deps, form, integration: { id, type, isPolled }, path }) => {
    if (isPolled) {
      await setPollToken(deps, id, form.get(TOKEN_FIELD) ?? '');
      return redirect(path, 'The token is stored. Tidings polls with it from now on.');
    }
    const places = await setToken(deps, id, form.get(TOKEN_FIELD) ?? '');
    return redirect(path, describeConnected(type, places, 'Managed by Tidings'));
  }),
];

function showForm(visit: IntegrationVisit, error?: string, cause?: unknown) {
  if (cause instanceof ChangeFailed && cause.outcome.code === 'token_stored')
    return showIntegration(visit, { about: 'hooks', error: cause });
  const { type, hasToken, isManaged, isPolled } = visit.integration;
  const hasOwn = isPolled ? hasToken : isManaged;
  const provider = providerNames[type];
  const title = tokenLabel(hasOwn);
  return subpage(
    visit,
    { title, isRefused: error !== undefined },
    <p class="lede">
      {hasOwn
        ? 'Tidings checks the permissions of the new token first. If one is missing, the current token stays.'
        : isPolled
          ? `Tidings then polls ${provider} at least once a minute, also private ${providerOf(type).words.place.many}.`
          : `Tidings then manages the webhooks at ${provider}. It takes over existing ones and creates missing ones.`}
    </p>,
    <Form
      to={`${visit.path}/token`}
      problem={tokenProblem(type, error)}
      button={title}
      busy="Checking token…"
      isOnce
    >
      {tokenField(visit, type, error)}
    </Form>,
  );
}

const tokenId = (type: IntegrationType) => `field-token-${type}`;

/** The summary of a form with the field. */
export function tokenProblem(type: IntegrationType, error: string | null | undefined): Problem | null {
  return fieldProblem(tokenId(type), error);
}

export function tokenField({ deps }: MemberVisit, type: IntegrationType, error: string | null = null) {
  const { api } = providerOf(type);
  if (api === null) return null;
  return (
    <Field
      label={api.words.label}
      name={TOKEN_FIELD}
      id={tokenId(type)}
      type="password"
      hint={<Phrases phrases={api.words.hint(deps.providerUrls?.[type] ?? null)} />}
      error={error}
    />
  );
}

/** A provider's words, with their links and code. */
export function Phrases({ phrases }: { phrases: readonly Phrase[] }) {
  return (
    <>
      {phrases.map((phrase) => {
        if (typeof phrase === 'string') return phrase;
        if ('code' in phrase) return <code>{phrase.code}</code>;
        return (
          <a href={phrase.href} target="_blank" rel="noopener noreferrer">
            {phrase.text}
          </a>
        );
      })}
    </>
  );
}

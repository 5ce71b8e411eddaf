/** @jsxRuntime automatic @jsxImportSource preact */
import { type Integration, providerNames } from '../../../integrations/model.ts';
import { ChangeFailed } from '../../../integrations/problems.ts';
import { setToken } from '../../../integrations/token.ts';
import { type IntegrationType, providerOf } from '../../../providers/index.ts';
import type { Phrase } from '../../../providers/provider.ts';
import {
  type Answer,
  type DashboardDeps,
  get,
  type MemberVisit,
  type Page,
  post,
  redirect,
} from '../../page.ts';
import { Field, Form } from '../../view/form.tsx';
import { PATH, requireIntegration, subpage } from './card.tsx';
import { showIntegration } from './one.tsx';
import { describeConnected, problemOf } from './words.ts';

/** The form for an integration's first token, or for a new one. */
export const tokenPages: readonly Page[] = [
  get(`${PATH}/token`, 'owner', async (visit) => showForm(visit, await requireIntegration(visit))),
  post(`${PATH}/token`, 'owner', async (visit) => storeToken(visit, await requireIntegration(visit))),
];

async function storeToken(visit: MemberVisit, integration: Integration): Promise<Answer> {
  const { deps, form, base } = visit;
  const { id, type } = integration;
  try {
    const places = await setToken(deps, id, form.get(TOKEN_FIELD) ?? '');
    const done = describeConnected(type, places, 'managed by Tidings from now on');
    return redirect(`${base}/integrations/${id}`, done);
  } catch (error) {
    const isStored = error instanceof ChangeFailed && error.outcome.code === 'token_stored';
    return isStored
      ? showIntegration(visit, { about: 'hooks', error })
      : showForm(visit, integration, problemOf(error, type));
  }
}

function showForm(visit: MemberVisit, integration: Integration, error?: string) {
  const { id, type, hasToken } = integration;
  const provider = providerNames[type];
  const title = hasToken ? 'Replace the token' : 'Add a token';
  return subpage(
    visit,
    integration,
    { title, isRefused: error !== undefined },
    <>
      <p class="lede">
        {hasToken
          ? 'Tidings checks the permissions of the new token first. If one is missing, the current token stays.'
          : `Tidings then manages the webhooks at ${provider}: it takes over those that were set up by hand, and creates missing ones.`}
      </p>
      <Form
        to={`${visit.base}/integrations/${id}/token`}
        problem={null}
        button={title}
        busy={`Asking ${provider}…`}
        isOnce
      >
        <TokenField type={type} deps={visit.deps} error={error} autoFocus />
      </Form>
    </>,
  );
}

/** The field's name. No page shows its value again. */
export const TOKEN_FIELD = 'apiToken';

/** The field for a provider's token. */
export function TokenField({
  type,
  deps,
  error,
  autoFocus = false,
}: {
  type: IntegrationType;
  deps: Pick<DashboardDeps, 'providerUrls'>;
  error: string | undefined;
  autoFocus?: boolean;
}) {
  const { api } = providerOf(type);
  if (api === null) return null;
  return (
    <Field
      label={api.words.label}
      name={TOKEN_FIELD}
      id={`field-token-${type}`}
      type="password"
      autoFocus={autoFocus}
      hint={<Phrases phrases={api.words.hint(deps.providerUrls?.[type] ?? null)} />}
      error={error ?? null}
    />
  );
}

/** A provider's words, with their links and code. */
export function Phrases({ phrases }: { phrases: readonly Phrase[] }) {
  return (
    <>
      {phrases.map((phrase) =>
        typeof phrase === 'string' ? (
          phrase
        ) : 'code' in phrase ? (
          <code>{phrase.code}</code>
        ) : (
          <a href={phrase.href} target="_blank" rel="noopener noreferrer">
            {phrase.text}
          </a>
        ),
      )}
    </>
  );
}

/** @jsxRuntime automatic @jsxImportSource preact */
import { type IntegrationType, providerOf } from '../../../providers/index.ts';
import type { Phrase } from '../../../providers/provider.ts';
import type { DashboardDeps } from '../../page.ts';
import { Field } from '../../view/form.tsx';

/** The field's name. What it holds is never written into a page. */
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
  error?: string | undefined;
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

/** @jsxRuntime automatic @jsxImportSource preact */
import { listIntegrations } from '../../../integrations/store.ts';
import type { AppError } from '../../../lib/app-error.ts';
import { letOthersIn } from '../../../lib/time.ts';
import { type IntegrationType, listProviders, providers } from '../../../providers/index.ts';
import type { Provider } from '../../../providers/provider.ts';
import { get, type MemberVisit, type Page, type View, view } from '../../page.ts';
import { formState } from '../../submission.ts';
import { Field, Form } from '../../view/form.tsx';
import { Card, type CardProps, cardOf, findPauses } from './card.tsx';
import { RepositoryForm } from './places.tsx';
import { TokenField } from './token.tsx';
import { problemOf } from './words.ts';

/** The maximum number of integrations with a card. */
const MAX_CARDS = 50;

export const integrationListPages: readonly Page[] = [
  get('/dashboard/:organizationId/integrations', 'member', (visit) => showIntegrations(visit)),
];

/** The failure of a form that connects a provider. */
export type ConnectFailure = { type: IntegrationType } & (
  | { field: 'repository'; error: AppError }
  | { field: 'token'; error: unknown }
);

/** The integrations, and forms to connect more. */
export async function showIntegrations(visit: MemberVisit, failure?: ConnectFailure): Promise<View> {
  const { deps, organization, base } = visit;
  const isOwner = visit.role === 'owner';
  const all = await deps.db.read((tx) => listIntegrations(tx, organization.id));
  const pauses = await findPauses(deps, all.slice(0, MAX_CARDS));
  const cards: CardProps[] = [];
  for (const each of all.slice(0, MAX_CARDS)) {
    cards.push({ ...(await cardOf(visit, each)), base });
    // Counting a busy integration's days takes milliseconds.
    await letOthersIn();
  }
  return view(
    'Integrations',
    <>
      <h1>Integrations</h1>
      <p class="lede">
        {all.length === 0
          ? `Connect ${listProviders('or')}: Tidings then drafts posts about what your team ships.`
          : 'Where deliveries come from. Each integration has a webhook URL and a secret of its own.'}
      </p>
      {cards.map((card) => (
        <Card {...card} pause={pauses.get(card.integration.id)} isOwner={isOwner} />
      ))}
      {all.length > cards.length ? (
        <ul class="card rows">
          {all.slice(MAX_CARDS).map(({ id }) => (
            <li>
              <a href={`${base}/integrations/${id}`}>{id}</a>
            </li>
          ))}
        </ul>
      ) : null}
      {isOwner ? (
        <div class="pair">
          {providers.map((provider, index) => (
            <ConnectCard
              provider={provider}
              visit={visit}
              failure={failure?.type === provider.id ? failure : undefined}
              isMain={all.length === 0 && index === 0}
            />
          ))}
        </div>
      ) : (
        <p class="hint">
          Owners of {organization.name} can connect {listProviders('and')}.
        </p>
      )}
    </>,
    { section: 'integrations', ...(failure !== undefined && { status: 400 }) },
  );
}

interface ConnectProps {
  visit: MemberVisit;
  provider: Provider<IntegrationType>;
  failure: ConnectFailure | undefined;
}

/** The ways to connect a provider: with a token, or by hand. */
function ConnectCard({ visit, provider, failure, isMain }: ConnectProps & { isMain: boolean }) {
  const { id: type, name, api, words } = provider;
  const byHand = <ByHand visit={visit} provider={provider} failure={failure} />;
  return (
    <section class="card pad" aria-labelledby={`connect-${type}`}>
      <h2 id={`connect-${type}`} class="flat">
        Connect {name}
      </h2>
      {api === null ? (
        byHand
      ) : (
        <>
          <Form
            to={`${visit.base}/integrations/${type}/choose`}
            problem={null}
            button={`Choose ${words.place.many}`}
            kind={isMain ? 'go' : ''}
            busy={`Asking ${name}…`}
            isOnce
          >
            <TokenField
              type={type}
              deps={visit.deps}
              error={failure?.field === 'token' ? problemOf(failure.error, type) : undefined}
            />
          </Form>
          <details class="more" open={failure?.field === 'repository'}>
            <summary>By hand, without a token</summary>
            {byHand}
          </details>
        </>
      )}
    </section>
  );
}

/** Without a token: a person sets the webhook up. */
function ByHand({ visit: { base, form }, provider, failure }: ConnectProps) {
  const { id: type, name, hasRepositories, words } = provider;
  const error = failure?.field === 'repository' ? failure.error : null;
  const { fields, problem } = formState(RepositoryForm, error === null ? {} : form, error);
  return (
    <Form to={`${base}/integrations/${type}`} problem={problem} button={`Connect ${name}`} kind="" isOnce>
      {hasRepositories ? (
        <Field {...fields.repository} id={`field-repository-${type}`} />
      ) : (
        <p class="hint">One integration covers a whole workspace. Triggers choose its {words.place.many}.</p>
      )}
    </Form>
  );
}

import { isPolledByTheMinute } from '../../../integrations/poll-store.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { integrationName, providerNames } from '../../../integrations/words.ts';
import type { AppError } from '../../../lib/app-error.ts';
import { isLocal } from '../../../lib/public-fetch.ts';
import { capitalized } from '../../../lib/text.ts';
import { letOthersIn } from '../../../lib/time.ts';
import { listAttention, shownTo } from '../../../people/attention.ts';
import { type IntegrationType, listProviders, providers } from '../../../providers/index.ts';
import type { Provider } from '../../../providers/provider.ts';
import { get, type MemberVisit, type Page, view } from '../../page.ts';
import { Link, LinkButton, More, useVisit } from '../../view/elements.tsx';
import { Field, Form, FormOf, fieldProblem } from '../../view/form.tsx';
import { LocalAddressNote, Overview, readOverview, State, Troubles, troublesOf } from './overview.tsx';
import { RepositoryForm, tokenField, tokenProblem } from './places.tsx';
import { problemOf, TOKEN_FIELD } from './subpage.tsx';

export const routes: readonly Page[] = [
  get('/dashboard/:organizationId/integrations', 'member', (visit) => showIntegrations(visit)),
];

/** Further integrations are links: each card takes milliseconds. */
const MAX_CARDS = 50;

export const POLLED_FIELD = 'polled';

type ConnectFailure = { type: IntegrationType } & (
  | { field: 'repository'; error: AppError }
  | { field: 'token' | 'poll'; error: unknown }
);

export async function showIntegrations(visit: MemberVisit, failure?: ConnectFailure) {
  const { deps, organization, isOwner } = visit;
  const { all, attention } = await deps.db.read(async (tx) => ({
    all: await listIntegrations(tx, organization.id),
    attention: await listAttention(tx, shownTo(visit)),
  }));
  const cards = [];
  for (const each of all.slice(0, MAX_CARDS)) {
    cards.push(await deps.db.read((tx) => readOverview(tx, each, deps.clock.now())));
    // Counting a busy integration's days takes milliseconds.
    await letOthersIn();
  }
  return view(
    {
      title: 'Integrations',
      facts:
        all.length === 0
          ? `Connect ${listProviders('or')}, and Tidings drafts posts about what your team ships.`
          : 'Each integration has its own webhook URL and secret.',
      ...(failure && { status: 400 }),
    },
    <LocalAddressNote url={deps.publicUrl()} />,
    cards.map((overview) => {
      const { integration, isHistoryOnly } = overview;
      const { id, type, enabled, repositories } = integration;
      const path = `integrations/${id}`;
      const troubles = troublesOf(attention, id);
      return (
        <article class="card pad">
          <div class="bar">
            <h2 class="flat">
              <Link to={path}>{integrationName(integration)}</Link>
            </h2>
            {/* Without repositories, the name is the provider's. */}
            {repositories.length > 0 && <span class="dim">{providerNames[type]}</span>}
            <State {...{ troubles, isHistoryOnly }} isEnabled={enabled} />
          </div>
          <Troubles troubles={troubles} />
          <Overview {...overview} />
        </article>
      );
    }),
    all.length > cards.length && (
      <ul class="card rows">
        {all.slice(MAX_CARDS).map((each) => (
          <li>
            <Link to={`integrations/${each.id}`}>{integrationName(each)}</Link>
          </li>
        ))}
      </ul>
    ),
    isOwner ? (
      <div class={isLocal(deps.publicUrl()) ? 'pair connect folded' : 'pair connect'}>
        {providers.map((provider, index) => (
          <ConnectCard
            provider={provider}
            failure={failure?.type === provider.id ? failure : undefined}
            isMain={all.length === 0 && index === 0}
            isOpen={index === 0 && failure === undefined}
          />
        ))}
      </div>
    ) : (
      <p class="hint">
        Owners of {organization.name} can connect {listProviders('and')}.
      </p>
    ),
  );
}

interface ConnectProps {
  provider: Provider<IntegrationType>;
  isMain: boolean;
  /** Shows the suggested form. Elsewhere it is folded, so that the page is short. */
  isOpen: boolean;
}

function ConnectCard({ failure, ...props }: ConnectProps & { failure: ConnectFailure | undefined }) {
  const { provider, isMain, isOpen } = props;
  const visit = useVisit();
  const { id: type, name, api, app, reader, hasRepositories, words } = provider;
  const path = `integrations/${type}`;
  const error = failure?.field === 'repository' ? failure.error : null;
  const problemAt = (field: 'token' | 'poll') =>
    failure?.field === field ? problemOf(visit, failure.error) : null;
  const tokenError = problemAt('token');
  const isSuggested = reader !== null && isLocal(visit.deps.publicUrl());
  const polling = (
    <PollPart
      provider={provider}
      error={problemAt('poll')}
      isMain={isMain && isSuggested}
      isOpen={isOpen && isSuggested}
    />
  );
  const byHand = (
    <FormOf
      schema={RepositoryForm}
      values={error === null ? {} : visit.form}
      ids={{ repository: `field-repository-${type}` }}
      {...{ error, to: path, button: `Connect ${name}`, kind: '', isOnce: true }}
      arrange={({ repository }) =>
        hasRepositories ? (
          <Field {...repository} />
        ) : (
          <p class="hint">
            One integration covers a whole workspace. Triggers choose its {words.place.many}.
          </p>
        )
      }
    />
  );
  const webhook =
    api === null ? (
      byHand
    ) : (
      <>
        <Form
          to={`${path}/choose`}
          problem={tokenProblem(type, tokenError)}
          button={`Choose ${words.place.many}`}
          kind={isMain && !isSuggested ? 'go' : ''}
          busy={`Loading ${words.place.many}…`}
          isOnce
        >
          {tokenField(visit, type, tokenError)}
        </Form>
        {app && (
          <div class="more stack">
            <p class="hint">
              For a team: a {app.name} doesn't depend on anyone's personal token, and you choose its
              repositories at {name}.
            </p>
            <LinkButton to={`integrations/${app.path}/new`} label={`Create ${app.name}`} />
          </div>
        )}
        <More label="Connect without a token" isOpen={failure?.field === 'repository'}>
          {byHand}
        </More>
      </>
    );
  return (
    <section class="card pad" aria-labelledby={`connect-${type}`}>
      <h2 id={`connect-${type}`} class="flat">
        Connect {name}
      </h2>
      {isSuggested ? (
        <>
          {polling}
          <More
            label="Webhook (needs a public URL)"
            isOpen={failure !== undefined && failure.field !== 'poll'}
          >
            {webhook}
          </More>
        </>
      ) : (
        <>
          {webhook}
          {polling}
        </>
      )}
    </section>
  );
}

/** The part of a provider's card that connects by polling. `error`: null unless this form failed. */
function PollPart({ provider, error, isMain, isOpen }: ConnectProps & { error: string | null }) {
  const { deps, form } = useVisit();
  const { id: type, name, reader, words } = provider;
  if (reader === null) return null;
  const { one, many, pattern } = words.place;
  const { access, anonymousPerHour } = reader;
  const id = `field-poll-${type}`;
  return (
    <More label="Polling (no public URL needed)" isOpen={isOpen || error !== null}>
      <p class="hint">
        Tidings asks {name} for what is new.
        {isLocal(deps.publicUrl()) ? ` Suggested here, because ${name} can't reach this server.` : ''}
      </p>
      <Form
        to={`integrations/${type}/poll`}
        problem={fieldProblem(id, error)}
        button={`Poll ${many}`}
        kind={isMain ? 'go' : ''}
        busy={`Reading ${many}…`}
        isOnce
      >
        <Field
          label={capitalized(many)}
          name={POLLED_FIELD}
          id={id}
          value={error === null ? '' : (form.get(POLLED_FIELD) ?? '')}
          hint={`Each as ${pattern} or URL, separated by spaces.`}
          error={error}
        />
        <Field
          label="Token (optional)"
          name={TOKEN_FIELD}
          id={`field-poll-token-${type}`}
          type="password"
          required={false}
          hint={
            isPolledByTheMinute(type)
              ? `Needed only for a private ${one}${access === undefined ? '' : `, with ${access}`}. It is kept encrypted.`
              : `Without one, ${name} answers ${anonymousPerHour?.toLocaleString('en')} requests an hour, and only about public ${many}. ${access === undefined ? '' : `A token needs ${access}. `}It is kept encrypted.`
          }
        />
      </Form>
    </More>
  );
}

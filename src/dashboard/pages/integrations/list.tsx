import { listIntegrations } from '../../../integrations/store.ts';
import { integrationName, providerNames } from '../../../integrations/words.ts';
import type { AppError } from '../../../lib/app-error.ts';
import { isLocal } from '../../../lib/public-fetch.ts';
import { letOthersIn } from '../../../lib/time.ts';
import { type IntegrationType, listProviders, providers } from '../../../providers/index.ts';
import { formState } from '../../fields.ts';
import { get, type MemberVisit, type Page, type View, view } from '../../page.ts';
import { Link, LinkButton, More, Status, useVisit } from '../../view/elements.tsx';
import { Field, Form } from '../../view/form.tsx';
import { LocalAddressNote } from './local-address.tsx';
import { findPauses, PauseNote } from './missed.tsx';
import { type ConnectProps, Overview, PollPart, readOverview } from './overview.tsx';
import { RepositoryForm } from './places.tsx';
import { problemOf } from './subpage.tsx';
import { tokenField, tokenProblem } from './token.tsx';

export const routes: readonly Page[] = [
  get('/dashboard/:organizationId/integrations', 'member', (visit) => showIntegrations(visit)),
];

/** Further integrations are links: each card takes milliseconds. */
const MAX_CARDS = 50;

/** The failure of a form that connects a provider. */
export type ConnectFailure = { type: IntegrationType } & (
  | { field: 'repository'; error: AppError }
  | { field: 'token' | 'poll'; error: unknown }
);

/** The integrations, and forms to connect more. */
export async function showIntegrations(visit: MemberVisit, failure?: ConnectFailure): Promise<View> {
  const { deps, organization, base } = visit;
  const isOwner = visit.role === 'owner';
  const all = await deps.db.read((tx) => listIntegrations(tx, organization.id));
  const pauses = await findPauses(deps, all.slice(0, MAX_CARDS));
  const cards = [];
  for (const each of all.slice(0, MAX_CARDS)) {
    const overview = await deps.db.read((tx) => readOverview(tx, each, deps.clock.now()));
    cards.push({ ...overview, pause: pauses.get(each.id) });
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
      ...(failure !== undefined && { status: 400 }),
    },
    <LocalAddressNote url={deps.publicUrl()} />,
    cards.map(({ pause, ...overview }) => {
      const { id, type, enabled, repositories } = overview.integration;
      const path = `${base}/integrations/${id}`;
      return (
        <article class="card pad">
          {pause && <PauseNote pause={pause} to={`${path}/missed`} />}
          <div class="bar">
            <h2 class="flat">
              <a href={path}>{integrationName(overview.integration)}</a>
            </h2>
            {/* Without repositories, the name is the provider's. */}
            {repositories.length > 0 && <span class="dim">{providerNames[type]}</span>}
            <Status status={enabled ? 'active' : 'disabled'} />
          </div>
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

/** The ways to connect a provider: with a token, or by hand. */
function ConnectCard({ failure, ...props }: ConnectProps & { failure: ConnectFailure | undefined }) {
  const { provider, isMain, isOpen } = props;
  const visit = useVisit();
  const { id: type, name, api, app, hasRepositories, words } = provider;
  const path = `${visit.base}/integrations/${type}`;
  const error = failure?.field === 'repository' ? failure.error : null;
  const { fields, problem } = formState(RepositoryForm, error === null ? {} : visit.form, error, {
    repository: `field-repository-${type}`,
  });
  const tokenError = failure?.field === 'token' ? problemOf(failure.error, type) : null;
  const pollError = failure?.field === 'poll' ? problemOf(failure.error, type) : null;
  const isSuggested = provider.reader !== null && isLocal(visit.deps.publicUrl());
  const polling = (
    <PollPart
      provider={provider}
      error={pollError}
      isMain={isMain && isSuggested}
      isOpen={isOpen && isSuggested}
    />
  );
  const byHand = (
    <Form to={path} problem={problem} button={`Connect ${name}`} kind="" isOnce>
      {hasRepositories ? (
        <Field {...fields.repository} />
      ) : (
        <p class="hint">One integration covers a whole workspace. Triggers choose its {words.place.many}.</p>
      )}
    </Form>
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
        {app !== undefined && (
          <div class="more stack">
            <p class="hint">
              For a team: a {app.name} needs no person's token, and you choose its repositories at {name}.
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

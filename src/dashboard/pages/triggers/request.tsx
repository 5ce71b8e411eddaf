import { Type } from '@sinclair/typebox';
import type { ComponentChildren } from 'preact';
import { describeFilters, listTriggers } from '../../../drafting/triggers/model.ts';
import { parseRequest, previewRequest, type RequestPreview } from '../../../intake/history/preview.ts';
import { readableProviders } from '../../../intake/history/service.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { AppError } from '../../../lib/app-error.ts';
import { ProviderProblem } from '../../../providers/api.ts';
import { get, type MemberVisit, type Page, view } from '../../page.ts';
import { Link, proseOf } from '../../view/elements.tsx';
import { FormOf } from '../../view/form.tsx';
import { problemOf } from '../integrations/subpage.tsx';
import { Sentence } from './all.tsx';

// The entries that a pull request adds to drafts, before or after its merge.

const PATH = '/dashboard/:organizationId/triggers/request';

/** Longer than the name of a request, or its URL. */
const MAX_LENGTH = 2_000;

const RequestForm = Type.Object({
  request: Type.String({
    label: 'Pull or merge request',
    // The sentences are whole.
    subject: '',
    placeholder: 'acme/rocket#12',
    hint: 'OWNER/NAME#NUMBER, GROUP/NAME!NUMBER, or its URL.',
  }),
});

const states: Readonly<Record<RequestPreview['state'], string>> = {
  open: 'Open. Merged as it is now, it adds this:',
  merged: 'Merged. It adds this:',
  closed: 'Closed without a merge. It would have added this:',
};

export const routes: readonly Page[] = [get(PATH, 'member', showPage)];

async function showPage(visit: MemberVisit) {
  const { searchParams } = visit.url;
  const asked = searchParams.get('request')?.slice(0, MAX_LENGTH).trim();
  const known = await readKnown(visit);
  try {
    const preview = asked === undefined ? null : await findPreview(visit, asked, known.names);
    const value = asked ?? startOf(searchParams.get('repository') ?? '', known.names);
    return render(value, undefined, preview && (await renderPreview(visit, preview, known)));
  } catch (error) {
    const needsToken = error instanceof ProviderProblem && OF_ACCESS.includes(error.kind);
    return render(asked ?? '', invalid(problemOf(visit, error)), needsToken && <TokenHint />);
  }
}

/** The problems that a token of the integration can solve. */
const OF_ACCESS: readonly ProviderProblem['kind'][] = ['place-not-found', 'bad-token', 'missing-permission'];

function TokenHint() {
  return (
    <p class="hint">
      Tidings reads a private repository with the token of its integration.{' '}
      <Link to="integrations">Open Integrations</Link>
    </p>
  );
}

const invalid = (sentence: string) => new AppError(400, sentence, { fields: { request: sentence } });

/** The repositories whose pull requests can be read, and the triggers. */
async function readKnown({ deps, organization: { id: organizationId } }: MemberVisit) {
  return deps.db.read(async (tx) => {
    const integrations = await listIntegrations(tx, organizationId);
    const readable = integrations.filter(({ type }) => readableProviders.some(({ id }) => id === type));
    const names = readable.flatMap(({ type, repositories }) =>
      repositories.map(({ fullName }) => ({ fullName, type })),
    );
    return { integrations, names, triggers: await listTriggers(tx, { organizationId }) };
  });
}

type Known = Awaited<ReturnType<typeof readKnown>>;

/** The text before the number, of the repository of the link or the only one. */
function startOf(repository: string, names: Known['names']): string {
  const isOnly = repository === '' && names.length === 1;
  const own = isOnly ? names[0] : names.find(({ fullName }) => fullName === repository);
  const mark = readableProviders.find(({ id }) => id === own?.type)?.requestMark ?? '#';
  return own === undefined ? repository : `${own.fullName}${mark}`;
}

async function findPreview(
  { deps, organization, request }: MemberVisit,
  asked: string,
  names: Known['names'],
) {
  const number = /^[#!]?(\d{1,9})$/.exec(asked)?.[1];
  const named = parseRequest(number === undefined ? asked : `${startOf('', names)}${number}`);
  if (named === null) throw invalid('Enter a repository and a number, such as acme/rocket#12, or a URL.');
  deps.extendTimeout?.(request);
  return previewRequest(deps, organization.id, named, { signal: request.signal });
}

function render(value: string, error: AppError | undefined, result: ComponentChildren) {
  return view(
    {
      title: 'Preview a pull request',
      crumbs: [{ to: 'triggers', label: 'Triggers' }],
      facts: 'See what it adds to your drafts, and why. Tidings changes nothing here or at the provider.',
      error,
    },
    <FormOf
      schema={RequestForm}
      values={{ request: value }}
      {...{ error, to: 'triggers/request', button: 'Preview entries', busy: 'Reading…' }}
      layout="stack wide"
      isGet
      autoFocus={result === null && error === undefined}
    />,
    result,
  );
}

async function renderPreview(
  { deps }: MemberVisit,
  { reference, title, url, state, drafts }: RequestPreview,
  { integrations, triggers }: Known,
) {
  const cards = [];
  // Triggers with the same entries share a card.
  const results = Map.groupBy(drafts, ({ entries, because, leftOut }) =>
    JSON.stringify([entries, leftOut ?? because]),
  );
  for (const same of results.values()) {
    const [{ entries, because, leftOut }] = same as [(typeof same)[number]];
    const groups = Map.groupBy(entries, ({ group }) => group);
    const markdown = Array.from(
      groups,
      ([group, of]) => `#### ${group}\n\n${of.map(({ line }) => `- ${line}`).join('\n')}`,
    );
    cards.push(
      <article class="card pad stack">
        {same.map(({ triggerId }) => {
          const trigger = triggers.find(({ id }) => id === triggerId);
          const integration = integrations.find(({ id }) => id === trigger?.integrationId);
          const filters = describeFilters(trigger?.filters ?? {});
          return (
            <div>
              <h3 class="flat">
                {trigger && integration ? (
                  <Sentence trigger={trigger} integration={integration} />
                ) : (
                  'No enabled trigger matches it. With the built-in rules:'
                )}
              </h3>
              {filters !== '–' && <span class="dim">Only: {filters}</span>}
            </div>
          );
        })}
        {entries.length > 0 && (await proseOf(deps, markdown.join('\n\n')))}
        {leftOut === null ? (
          <p class="dim">
            Words: {because.words}. Group: {because.group}.
          </p>
        ) : (
          <p>
            <strong>Left out:</strong> {leftOut}
          </p>
        )}
      </article>,
    );
  }
  return (
    <section aria-labelledby="request-title">
      <h2 id="request-title">
        {url === null ? reference : <a href={url}>{reference}</a>} <bdi>{title}</bdi>
      </h2>
      <p class="hint">{states[state]}</p>
      {cards}
    </section>
  );
}

/** @jsxRuntime automatic @jsxImportSource preact */
import { listIntegrations } from '../../../integrations/store.ts';
import { letOthersIn } from '../../../lib/turns.ts';
import { newMark } from '../../once.ts';
import { get, type MemberVisit, type Page, type View, view } from '../../page.ts';
import { Field } from '../../view/form.tsx';
import { Card, cardOf } from './card.tsx';

/** How many integrations have their picture on one page. */
const MAX_CARDS = 50;

export const integrationList: Page = get('/dashboard/:organizationId/integrations', 'member', async (visit) =>
  showIntegrations(visit),
);

/** What is connected, and how to connect more. `error` is about the repository's name that was typed. */
export async function showIntegrations(visit: MemberVisit, error?: string): Promise<View> {
  const { deps, organization, base, role } = visit;
  const all = await listIntegrations(deps.db, organization.id);
  const cards: Awaited<ReturnType<typeof cardOf>>[] = [];
  for (const each of all.slice(0, MAX_CARDS)) {
    cards.push(await cardOf(visit, each));
    // A busy integration's days take milliseconds to count, and nobody else is to wait for many of them.
    await letOthersIn();
  }
  return view(
    'Integrations',
    <>
      <h1>Integrations</h1>
      <p class="lede">
        {all.length === 0
          ? 'Connect a repository on GitHub or a workspace on Linear: what your team ships then becomes drafts here.'
          : 'Where deliveries come from. Each integration has a webhook URL and a secret of its own.'}
      </p>
      {cards.map((card) => (
        <Card {...card} base={base} />
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
      {role === 'owner' ? (
        <Connect
          base={base}
          typed={visit.form.get('repository') ?? ''}
          error={error}
          isFirst={all.length === 0}
        />
      ) : (
        <p class="hint">Owners of {organization.name} can connect GitHub and Linear.</p>
      )}
    </>,
    { section: 'integrations', ...(error === undefined ? {} : { status: 400 }) },
  );
}

function Connect({
  base,
  typed,
  error,
  isFirst,
}: {
  base: string;
  typed: string;
  error: string | undefined;
  isFirst: boolean;
}) {
  return (
    <div class="pair">
      <section class="card pad" aria-labelledby="connect-github">
        <h2 id="connect-github" class="flat">
          Connect GitHub
        </h2>
        <form method="post" action={`${base}/integrations/github`} class="stack" data-once>
          <input type="hidden" name="mark" value={newMark()} />
          <Field
            label="Repository"
            name="repository"
            value={typed}
            hint="As OWNER/NAME, such as acme/rocket."
            error={error ?? null}
          />
          <button type="submit" class={isFirst ? 'button go' : 'button'}>
            Connect GitHub
          </button>
        </form>
      </section>
      <section class="card pad" aria-labelledby="connect-linear">
        <h2 id="connect-linear" class="flat">
          Connect Linear
        </h2>
        <form method="post" action={`${base}/integrations/linear`} class="stack" data-once>
          <input type="hidden" name="mark" value={newMark()} />
          <p class="hint">
            One integration takes what a whole workspace ships. Its teams are chosen by triggers.
          </p>
          <button type="submit" class="button">
            Connect Linear
          </button>
        </form>
      </section>
    </div>
  );
}

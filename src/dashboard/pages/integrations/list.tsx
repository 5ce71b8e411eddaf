/** @jsxRuntime automatic @jsxImportSource preact */

import { listIntegrations } from '../../../integrations/store.ts';
import { letOthersIn } from '../../../lib/turns.ts';
import { listProviders } from '../../../providers/index.ts';
import { get, type MemberVisit, type Page, type View, view } from '../../page.ts';
import { Card, cardOf } from './card.tsx';
import { ConnectCards, type ConnectProblem } from './connect-cards.tsx';
import { findPauses } from './pause.tsx';

/** How many integrations have their picture on one page. */
const MAX_CARDS = 50;

export const integrationList: Page = get('/dashboard/:organizationId/integrations', 'member', async (visit) =>
  showIntegrations(visit),
);

/** The integrations, and forms to connect more. `problem` is about one of these forms. */
export async function showIntegrations(visit: MemberVisit, problem?: ConnectProblem): Promise<View> {
  const { deps, organization, base, role } = visit;
  const all = await deps.db.read((tx) => listIntegrations(tx, organization.id));
  const pauses = await findPauses(deps, all.slice(0, MAX_CARDS));
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
          ? `Connect ${listProviders('or')}: what your team ships then becomes drafts here.`
          : 'Where deliveries come from. Each integration has a webhook URL and a secret of its own.'}
      </p>
      {cards.map((card) => (
        <Card {...card} base={base} pause={pauses.get(card.integration.id)} isOwner={role === 'owner'} />
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
        <ConnectCards visit={visit} problem={problem} isFirst={all.length === 0} />
      ) : (
        <p class="hint">
          Owners of {organization.name} can connect {listProviders('and')}.
        </p>
      )}
    </>,
    { section: 'integrations', ...(problem === undefined ? {} : { status: 400 }) },
  );
}

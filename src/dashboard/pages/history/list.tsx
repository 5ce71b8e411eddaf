/** @jsxRuntime automatic @jsxImportSource preact */
import type { History } from '../../../history/store.ts';
import type { Integration } from '../../../integrations/model.ts';
import { LinkButton, Status, When } from '../../view/elements.tsx';
import { describeRequest } from './words.ts';

/** The newest imports of an integration's repositories. */
export function Imports({
  integration: { repositories },
  histories,
  base,
  now,
  isOwner,
}: {
  integration: Integration;
  histories: readonly History[];
  base: string;
  now: Date;
  isOwner: boolean;
}) {
  const nameOf = (id: string) => repositories.find((each) => each.id === id)?.fullName;
  const [only, ...others] = repositories;
  const query =
    only === undefined || others.length > 0 ? '' : `?repository=${encodeURIComponent(only.fullName)}`;
  return (
    <section aria-labelledby="imports">
      <h2 id="imports">Imports</h2>
      {histories.length === 0 ? (
        <p class="hint">Past releases can become drafts too, each with its own date.</p>
      ) : (
        <ul class="card rows">
          {histories.map((history) => (
            <li>
              <Status status={history.status === 'queued' ? 'reading' : history.status} />
              <a class="grow any" href={`${base}/import/${history.id}`}>
                {describeRequest(history)}
                {others.length === 0 ? '' : ` of ${nameOf(history.repositoryId)}`}:{' '}
                {history.found.toLocaleString('en')} read
              </a>
              <span class="dim">
                <When at={history.createdAt} now={now} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {isOwner ? (
        <div class="bar">
          <LinkButton to={`${base}/import${query}`} label="Import releases" />
        </div>
      ) : null}
    </section>
  );
}

import { listIntegrations } from '../integrations/store.ts';
import type { Services } from '../main.ts';

/** The names of connected repositories by their ids: people know `acme/rocket`, not `repo_…`. */
export async function repositoryNames({ db }: Pick<Services, 'db'>): Promise<ReadonlyMap<string, string>> {
  const integrations = await listIntegrations(db);
  return new Map(
    integrations.flatMap(({ repositories }) =>
      repositories.map(({ id, fullName }) => [id, fullName] as const),
    ),
  );
}

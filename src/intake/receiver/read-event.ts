import { findRepositoryId, findRepositoryIdByName } from '../../integrations/app-store.ts';
import { findAddress } from '../../integrations/deliveries/store.ts';
import { cutLine } from '../../lib/text.ts';
import type { Deps } from '../../people/deps.ts';
import type { InstallationChange } from '../../providers/app.ts';
import {
  type EventResult,
  ignored,
  MalformedPayload,
  type Payload,
  parseEvent,
  SAMPLE_REPOSITORY_ID,
} from '../../providers/provider.ts';
import type { Address } from './receive.ts';

/** The event of a payload, and the address with the repository that it is about. */
export interface ReadEvent {
  address: Address;
  result: EventResult;
  /** Its change of the installation of an App. */
  change: InstallationChange | null;
}

/** Throws `MalformedPayload`. An event about a repository that is not connected is ignored. */
export async function readEvent(
  deps: Pick<Deps, 'db'>,
  address: Address,
  event: string,
  payload: Payload,
): Promise<ReadEvent> {
  const { provider, isApp, row } = address;
  const changed = isApp ? provider.app?.readChange(event, payload) : null;
  if (changed) return { address, ...changed };
  const result = parseEvent(provider, event, payload);
  if (!isApp) return { address, result, change: null };
  const named = provider.repositoryOf(payload);
  if (named === null) {
    if (result.outcome !== 'processed') return { address, result, change: null };
    throw new MalformedPayload('repository is missing');
  }
  const { id } = row.integration;
  const found = await deps.db.read(async (tx) => {
    const repositoryId =
      named.id === SAMPLE_REPOSITORY_ID
        ? await findRepositoryIdByName(tx, id, named.fullName)
        : await findRepositoryId(tx, id, named.id);
    return repositoryId === null ? null : await findAddress(tx, id, repositoryId);
  });
  const { repository = null } = found ?? {};
  if (found === null || repository === null) {
    return { address, result: ignored(result.title, notConnected(named.fullName)), change: null };
  }
  const { id: repositoryId } = repository;
  return {
    address: { ...address, row: found, named: repositoryId, repository, repositoryId },
    result,
    change: null,
  };
}

const notConnected = (fullName: string) =>
  `The App's installation does not have ${cutLine(fullName, 200)} here, or another integration has it`;

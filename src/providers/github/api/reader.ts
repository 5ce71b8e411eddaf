import { ProviderProblem } from '../../api.ts';
import type { ClientOptions, Token } from '../../host.ts';
import {
  hostReader,
  mergeIn,
  mergesIn,
  newBudget,
  type ReadableHost,
  readBudget,
  releasesIn,
} from '../../host-reader.ts';
import type { RepositoryReader } from '../../reader.ts';
import { nextLink } from '../../rest.ts';
import { openClient } from './client.ts';
import { commitReader } from './commits.ts';
import { LARGEST_PAGE } from './index.ts';
import { filesOf, headOf, pullOf, pullsOf, releasesOf, words } from './responses.ts';

/** A page of a hundred long texts takes GitHub some seconds. */
const READ_MS = 30_000;

/** Twenty pages of commits. */
const LISTING_MS = 20 * READ_MS;

/**
 * Reads repositories through GitHub's REST API on behalf of a token, or of nobody. `baseUrl` as for `githubApi`. Never
 * retries, and no error holds the token.
 */
export function githubReader(baseUrl: string, token: Token, options: ClientOptions = {}): RepositoryReader {
  const budget = newBudget();
  const client = openClient(baseUrl, token, typeof token === 'function' ? 'of an App' : 'for reading', {
    requestMs: READ_MS,
    listingMs: LISTING_MS,
    ...options,
    onResponse(response) {
      readBudget(budget, response.headers, 'x-ratelimit');
      options.onResponse?.(response);
    },
  });
  const host: ReadableHost = {
    about: ({ fullName }) => client.about(fullName),
    askPart: client.askPart,
    nextNumber: (response, page) => (nextLink(response) === null ? null : page + 1),
    // Drafts are there only for a token that may write.
    releases: {
      below: '/releases',
      query: LARGEST_PAGE,
      read: (json, repository) => releasesIn(repository, releasesOf(json)),
    },
    merged: {
      below: '/pulls',
      query: { state: 'closed', sort: 'updated', direction: 'desc', ...LARGEST_PAGE },
      // The list lacks the field `merged`.
      read: (json, repository) =>
        mergesIn(
          repository,
          pullsOf(json).map((pull) => ({ ...pull, merged: pull.merged_at !== null })),
        ),
    },
    headOf: { below: (branch) => `/git/ref/${encodeURIComponent(`heads/${branch}`)}`, read: headOf },
    filesOf: { below: (sha) => `/commits/${sha}`, read: filesOf },
    requestFiles: {
      below: (number) => `/pulls/${number}/files`,
      query: LARGEST_PAGE,
      read: (json) => filesOf({ files: json }) ?? [],
    },
    words,
  };

  return {
    type: 'github',
    budget,

    async getRepository(name) {
      const repository = await client.getRepository(client.about(name.trim()));
      const { id: providerId, full_name: fullName, default_branch: defaultBranch } = repository;
      if (defaultBranch === undefined)
        throw new ProviderProblem('provider-failed', words.otherShape('a repository'));
      // A server that says nothing about it may keep it from others.
      return { providerId, fullName, defaultBranch, isPrivate: repository.private ?? true };
    },

    async getRequest(repository, number) {
      const response = await client.askPart(client.about(repository.fullName), `/pulls/${number}`);
      if (response === null) return null;
      const pull = pullOf(response.json);
      return mergeIn(repository, pull, pull.base.sha);
    },

    ...hostReader(host),
    ...commitReader(client, host),
  };
}

import type { ProviderApi } from '../model.ts';

export function githubApi(_baseUrl: string, _token: string): ProviderApi {
  throw new Error('not there yet');
}

import type { OpenProviderApi } from './api.ts';
import type { IntegrationType } from './index.ts';

/**
 * The providers' APIs at these base URLs. The clients are loaded when they are first needed: they take longer to load
 * than all the rest.
 */
export function providerApis(urls: Readonly<Record<IntegrationType, string>>): OpenProviderApi {
  return async (type, token, signal) => {
    if (type === 'github') {
      const { githubApi } = await import('./github/api/index.ts');
      return githubApi(urls.github, token, { signal });
    }
    const { linearApi } = await import('./linear/api/index.ts');
    return linearApi(urls.linear, token, { signal });
  };
}

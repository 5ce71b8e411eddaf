import { AppError } from '../lib/app-error.ts';
import type { OpenProviderApi } from './api.ts';
import { providerOf } from './index.ts';

/** The providers' APIs at these base URLs. Opening one that a provider does not have throws `AppError` 400. */
export function providerApis(urls: Readonly<Record<string, string>>): OpenProviderApi {
  return async (type, token, signal) => {
    const { api, name } = providerOf(type);
    const url = urls[type];
    if (api === null || url === undefined) {
      throw new AppError(400, `${name} takes no token: set up its webhooks by hand`);
    }
    return await api.open(url, token, { signal });
  };
}

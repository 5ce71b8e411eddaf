import type { Deps } from '../deps.ts';
import { imageAccess } from '../integrations/token.ts';
import { type CopyOptions, copyImages } from '../media/copies.ts';

/** Copies images that are due, with the token of an integration for images at its provider. Returns how many it tried. */
export function copyDueImages(deps: Deps, signal?: AbortSignal): Promise<number> {
  const { plainHosts } = deps;
  const accessOf: CopyOptions['accessOf'] = ({ integrationId, url }) => imageAccess(deps, integrationId, url);
  return copyImages(deps, { accessOf, ...(plainHosts && { plainHosts }) }, signal);
}

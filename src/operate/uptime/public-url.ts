import type { Database } from '../../../db/client.ts';
import type { Config } from '../../config.ts';
import { lastPublicUrl } from './store.ts';

/**
 * What a command's links begin with: it speaks of the address that the server has, whatever its own environment lacks.
 * Null when nobody has said one yet.
 */
export function knownPublicUrl({ publicUrl }: Pick<Config, 'publicUrl'>, db: Database): string | null {
  return publicUrl ?? lastPublicUrl(db);
}

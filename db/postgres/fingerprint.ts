import { sql } from 'drizzle-orm';
import type { Storage } from '../engine.ts';

/**
 * Stores the fingerprint of the key that encrypts the secrets (see `keyFingerprint`), unless one is stored. Resolves
 * with the stored one.
 */
export function claimKeyFingerprint(db: Storage, fingerprint: number): Promise<number> {
  return db.write(async (tx) => {
    const [[stored] = []] = await tx.values<[number]>(
      sql`update tidings set key_fingerprint = coalesce(key_fingerprint, ${fingerprint}) returning key_fingerprint`,
    );
    return Number(stored);
  });
}

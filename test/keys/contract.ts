import { describe } from 'bun:test';
import { creating } from './contract/creating.ts';
import { ending } from './contract/ending.ts';
import { listing } from './contract/listing.ts';
import type { Subject } from './contract/subject.ts';
import { verifying } from './contract/verifying.ts';

/** The contract of every key service. */
export function keyServiceContract(
  name: string,
  start: (organizations: readonly string[]) => Promise<Subject>,
): void {
  const begin = () => start(['org_1', 'org_2']);

  describe(`${name}: verification`, () => verifying(begin));
  describe(`${name}: the list`, () => listing(begin));
  describe(`${name}: revoke and delete`, () => ending(begin));
  describe(`${name}: creating a key`, () => creating(begin));
}

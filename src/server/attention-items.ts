import type { ReadTx } from '../../db/engine.ts';
import { tidings } from '../lib/build.ts';
import type { FoundItem } from '../people/attention.ts';

// The parts that items of the attention list share.

export type Find = (tx: ReadTx, now: Date) => Promise<FoundItem[]>;

/** Items of one kind. Beyond that, a person has enough to do. */
export const MAX_ITEMS = 100;

export const NO_DRAFTS = 'Changes there make no drafts.';

export const ofIntegration = (organizationId: string, subject: string) => ({
  organizationId,
  subject,
  action: `${tidings} integration doctor ${subject}`,
  path: `integrations/${subject}`,
});

export const placesOf = ({ place, places }: { place: string | null; places: number }) =>
  places > 1 ? `${place} and ${places - 1} more` : place;

/** Providers and the signature doctor explain at length. */
export const firstSentence = (text: string) => text.replace(/\. .*$/s, '').replace(/\.$/, '');

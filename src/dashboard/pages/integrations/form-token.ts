import type { IntegrationType } from '../../../integrations/model.ts';
import { WrongSecretKey } from '../../../lib/secret-box.ts';
import type { Place } from '../../../providers/api.ts';
import type { MemberVisit } from '../../page.ts';

// Connecting takes two forms, and the second needs the token of the first. It travels in the page between them, sealed:
// only the same person can use it, for the same organization, and not for long.

/** How long a token that was given may be used by the second form, in milliseconds. */
const LASTS_MS = 30 * 60_000;

/** What the second form carries of the first: the token, and what it could see then. */
export interface Offer {
  token: string;
  places: Place[];
  /** Whether the token can see more than these. */
  isCut: boolean;
}

/** For a hidden field, as base64url. */
export function sealOffer(visit: MemberVisit, type: IntegrationType, offer: Offer): string {
  const { secrets, clock } = visit.deps;
  const until = clock.now().getTime() + LASTS_MS;
  return secrets.seal(JSON.stringify({ ...offer, until }), contextOf(visit, type)).toString('base64url');
}

/** What `sealOffer` sealed; null for what it did not, what another person's form held, and what is too old. */
export function openOffer(visit: MemberVisit, type: IntegrationType, field: string): Offer | null {
  const { secrets, clock } = visit.deps;
  try {
    const text = secrets.open(Buffer.from(field, 'base64url'), contextOf(visit, type));
    const { until, ...offer } = JSON.parse(text) as Offer & { until: number };
    return until > clock.now().getTime() ? offer : null;
  } catch (error) {
    if (error instanceof WrongSecretKey) return null;
    throw error;
  }
}

function contextOf({ organization, user }: MemberVisit, type: IntegrationType): string {
  return `${type} token in a form of ${user.id} for ${organization.id}`;
}

import type { IntegrationType } from '../../../integrations/model.ts';
import { WrongSecretKey } from '../../../lib/secret-box.ts';
import type { Place } from '../../../providers/api.ts';
import type { MemberVisit } from '../../page.ts';

// Connecting takes two forms, and the second needs the token of the first. It travels in the page between them, sealed:
// only the same person can use it, for the same organization, and not for long.

/** How long a token that was given may be used by the second form, in milliseconds. */
const LASTS_MS = 30 * 60_000;

/** The data of the first form that the second one carries: the token, and the places that it can see. */
export interface Offer {
  token: string;
  places: Place[];
  /** True if the token can see more than these. */
  isCut: boolean;
}

/** For a hidden field, as base64url. */
export function sealOffer(visit: MemberVisit, type: IntegrationType, offer: Offer): string {
  const { secrets, clock } = visit.deps;
  const until = clock.now().getTime() + LASTS_MS;
  return secrets.seal(JSON.stringify({ ...offer, until }), contextOf(visit, type)).toString('base64url');
}

/** Opens a field of `sealOffer`. Null for any other value, for another person's form, and after 30 minutes. */
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

import { AppError } from '../lib/app-error.ts';
import type { SignatureCause } from './signature-cause.ts';

/**
 * A delivery that is not taken: what the sender is told, and what the log says of it. `isVerified`: the sender
 * proved to hold the secret, so the entry may be one of its own.
 */
export class Refusal extends AppError {
  constructor(
    status: number,
    message: string,
    readonly title: string,
    readonly reason: string,
    readonly isVerified = false,
    cause?: unknown,
  ) {
    super(status, message, { cause });
  }
}

/**
 * A signature that no secret in force made. The log tells the likely cause; the sender is told the same whatever it is,
 * as it has proved nothing.
 */
export class WrongSignature extends Refusal {
  constructor(
    /** For programs: the cause and, where the secret is another integration's, which one. */
    readonly told: { signature: SignatureCause; integrationId?: string },
    reason: string,
  ) {
    super(401, 'Invalid webhook signature', 'Signature does not match', reason);
  }
}

/** A body over the limit, whether it said so or turned out so. */
export function tooLarge(): Refusal {
  return new Refusal(413, 'Payload too large', 'Payload too large', 'The body has more than 25 MiB');
}

import { AppError } from '../lib/app-error.ts';

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

/** A body over the limit, whether it said so or turned out so. */
export function tooLarge(): Refusal {
  return new Refusal(413, 'Payload too large', 'Payload too large', 'The body has more than 25 MiB');
}

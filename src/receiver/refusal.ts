import { AppError } from '../lib/app-error.ts';
import type { UploadProblem } from '../lib/upload.ts';
import type { SignatureCause } from './signature-cause.ts';

/** Why a delivery was refused, for programs and for the log. */
interface RefusalFacts {
  /** A short code. Refusals before the signature check share a log entry per minute and code, so codes are few. */
  code: string;
  /** For people: the title of the log entry, where it is not the message. */
  title?: string;
  /** For people: the whole cause. It may quote the sender. */
  reason: string;
  /** For programs: what the log entry holds as its data. */
  data?: Record<string, unknown>;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** A delivery that is not taken: what the sender is told, and what the log says of it. */
export class Refusal extends AppError {
  override readonly code: string;
  readonly title: string;
  readonly reason: string;
  readonly data: Record<string, unknown> | null;

  constructor(status: number, message: string, facts: RefusalFacts) {
    const { code, title = message, reason, data = null, headers = {}, cause } = facts;
    super(status, message, { cause, headers, isRefusal: true });
    this.code = code;
    this.title = title;
    this.reason = reason;
    this.data = data;
  }
}

/**
 * A signature that no secret in force made. The log tells the likely cause; the sender is told the same whatever it is,
 * as it has proved nothing.
 */
export function wrongSignature(
  data: { signature: SignatureCause; integrationId?: string },
  reason: string,
): Refusal {
  // Few deliveries a minute are examined, so few other integrations are named.
  const code = ['signature', data.signature, data.integrationId ?? ''].join(':');
  const title = 'Signature does not match';
  return new Refusal(401, 'Invalid webhook signature', { code, title, reason, data });
}

/** A body that was not read, or that is over the limit by its own account. */
export function refusedUpload(problem: UploadProblem): Refusal {
  switch (problem) {
    case 'too_large':
      return new Refusal(413, 'Payload too large', {
        code: problem,
        reason: 'The body has more than 25 MiB',
      });
    case 'aborted':
      return new Refusal(400, 'Upload aborted', {
        code: 'upload_aborted',
        reason: 'The connection closed before the whole body arrived',
      });
    case 'too_slow':
      return new Refusal(408, 'Upload timed out', {
        code: 'upload_timeout',
        reason: 'The body took more than 15 seconds to arrive',
        headers: { connection: 'close' },
      });
    case 'no_room':
      return new Refusal(503, 'Too many uploads', {
        code: 'upload_no_room',
        reason:
          'Unverified senders held too many bytes in unfinished uploads. A redelivery is taken once they end.',
        headers: { 'retry-after': '5' },
      });
  }
}

import { timingSafeEqual } from 'node:crypto';
import { bearerToken } from '../../http/request.ts';
import { AppError } from '../../lib/app-error.ts';

/** What a proxy says of whom it asks for. `X-Forwarded-…` has many endings; all count. */
const FORWARDING =
  /^(forwarded|x-forwarded.*|x-real-ip|.*client-ip|x-original-.*|x-envoy-.*|x-amzn-.*|cf-.*|via)$/;

const LOOPBACK = /^(127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/;
const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/** Who asks: the address of the connection's other end; null when it is not known. */
export interface Asker {
  headers: Headers;
  address: string | null;
}

/**
 * Lets pass who may read the metrics. With a token: whoever sends it, from anywhere. Without one: clients on this
 * machine, unless a header says that a proxy asks for somebody else, or the host that was asked for is another name than
 * this machine's own. Throws `AppError` 401 or 403.
 */
export function requireMetricsAccess({ headers, address }: Asker, token: string | undefined): void {
  if (token !== undefined) {
    const given = bearerToken(headers.get('authorization'));
    if (given !== null && isSame(given, token)) return;
    throw new AppError(401, 'Send "Authorization: Bearer" with the METRICS_TOKEN of this server', {
      headers: { 'www-authenticate': 'Bearer' },
    });
  }
  const isLocal =
    address !== null &&
    LOOPBACK.test(address) &&
    LOOPBACK_HOST.test(headers.get('host') ?? 'localhost') &&
    ![...headers.keys()].some((name) => FORWARDING.test(name));
  if (!isLocal) {
    throw new AppError(403, 'Metrics are for clients on this machine, unless METRICS_TOKEN is set');
  }
}

/** In constant time; hashed first, so that not even the length can be told from it. */
function isSame(given: string, token: string): boolean {
  const hash = (text: string) => new Bun.CryptoHasher('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(token));
}

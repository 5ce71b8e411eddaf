import { AppError } from '../../lib/app-error.ts';
import type { Metrics } from '../../lib/metrics.ts';
import {
  type KeyService,
  MAX_KEY_LENGTH,
  READ_PERMISSION,
  type RepeatVerdict,
  type Verdict,
} from './store.ts';

type ValidKey = Extract<Verdict, { outcome: 'valid' }>;

interface KeyChecking {
  keys: KeyService;
  metrics: Pick<Metrics, 'verifications' | 'verificationDurations'>;
}

/** Requires a key of the organization. Throws `AppError` 401, 403, 429 or 503, in the order of section 7 of the spec. */
export async function requireApiKey(
  deps: KeyChecking,
  headers: Headers,
  organizationId: string,
  permission: string,
): Promise<ValidKey> {
  const holder = await verifyApiKey(deps, headers, permission);
  if (holder.organizationId !== organizationId) throw foreignOrganization();
  return holder;
}

export function foreignOrganization(): AppError {
  return new AppError(403, 'Forbidden: organization access denied');
}

/** Requires a key with the permission, of any organization. Throws `AppError` 401, 403, 429 or 503. */
export async function verifyApiKey(
  { keys, metrics }: KeyChecking,
  headers: Headers,
  permission: string,
): Promise<ValidKey> {
  const key = bearerToken(headers.get('authorization'));
  if (key === null) throw unauthorized('Missing API key');
  if (key.length > MAX_KEY_LENGTH) throw unauthorized('INVALID_KEY');

  const startedAt = performance.now();
  let verdict: Verdict | undefined;
  try {
    verdict = await keys.verifyKey(key, permission);
  } finally {
    metrics.verificationDurations.observe((performance.now() - startedAt) / 1000);
    metrics.verifications[verdict?.outcome ?? 'unavailable'].value++;
  }
  const { outcome } = verdict;
  if (outcome === 'invalid') throw unauthorized('INVALID_KEY');
  if (outcome === 'limited') throw new AppError(429, verdict.code, { headers: verdict.headers });
  if (outcome === 'forbidden') throw new AppError(403, 'Forbidden');
  return verdict;
}

/** The token of `Bearer <token>`; the scheme is case-insensitive. Null for anything else. */
export function bearerToken(authorization: string | null): string | null {
  return authorization?.match(/^bearer +(\S.*)$/i)?.[1] ?? null;
}

function unauthorized(message: string): AppError {
  return new AppError(401, message, { headers: { 'www-authenticate': 'Bearer' } });
}

/** Requests that need no key, each with the one organization whose posts it may read. */
const keyless = new WeakMap<Request, string>();

/** The caller must have checked the person. The permission belongs to the object, so no client can send or repeat it. */
export function allowReading(request: Request, organizationId: string): Request {
  keyless.set(request, organizationId);
  return request;
}

/** Requires a key of the organization, or the server's permission. A request without a key has no verdict to repeat. */
export async function admit(
  deps: Parameters<typeof requireApiKey>[0],
  request: Request,
  organizationId: string,
): Promise<{ repeatVerdict?: RepeatVerdict | undefined }> {
  const ownOrganization = keyless.get(request);
  if (ownOrganization === organizationId) return {};
  if (ownOrganization !== undefined) throw foreignOrganization();
  const { repeat } = await requireApiKey(deps, request.headers, organizationId, READ_PERMISSION);
  return { repeatVerdict: repeat };
}

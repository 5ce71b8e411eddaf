import type { Deps } from '../deps.ts';
import { AppError } from '../lib/app-error.ts';
import { MAX_KEY_LENGTH, type Verdict } from './model.ts';

/**
 * Lets a request pass that carries a key with `permission`, bound to the organization. Otherwise throws
 * `AppError` 401, 403, 429 or 503, checked in the order of section 7 of the spec.
 */
export async function requireApiKey(
  { keys, metrics }: Pick<Deps, 'keys' | 'metrics'>,
  headers: Headers,
  organizationId: string,
  permission: string,
): Promise<void> {
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
  switch (verdict.outcome) {
    case 'invalid':
      throw unauthorized('INVALID_KEY');
    case 'limited':
      throw new AppError(429, verdict.code, { headers: verdict.headers });
    case 'forbidden':
      throw new AppError(403, 'Forbidden');
    case 'valid':
      if (verdict.organizationId !== organizationId) {
        throw new AppError(403, 'Forbidden: organization access denied');
      }
  }
}

/** The token of `Bearer <token>`, the scheme in any case; null for anything else. */
export function bearerToken(authorization: string | null): string | null {
  return authorization?.match(/^bearer +(\S.*)$/i)?.[1] ?? null;
}

function unauthorized(message: string): AppError {
  return new AppError(401, message, { headers: { 'www-authenticate': 'Bearer' } });
}

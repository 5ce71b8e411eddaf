// First: a dependency of the library needs it before it loads, which matters in the binary.
import 'reflect-metadata';
import {
  type AuthenticationResponseJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { decodeAttestationObject, decodeClientDataJSON, isoBase64URL } from '@simplewebauthn/server/helpers';

// The parts of the library that Tidings uses. It loads when somebody first uses a passkey.

export type { AuthenticationResponseJSON, RegistrationResponseJSON };

/** `userId`: of the account that has the passkey. */
export async function verifyAuthentication(
  userId: string,
  options: Parameters<typeof verifyAuthenticationResponse>[0],
) {
  const { clientDataJSON, userHandle } = options.response.response;
  requireOwnPage(clientDataJSON);
  if (userHandle != null && userHandle !== Buffer.from(userId).toString('base64url')) {
    throw new Error('the authenticator keeps it for another account');
  }
  return verifyAuthenticationResponse(options);
}

/**
 * Refuses certificates of the authenticator, which Tidings doesn't ask for: to look up whether they are revoked, the library
 * would fetch an address that they name.
 */
export async function verifyRegistration(options: Parameters<typeof verifyRegistrationResponse>[0]) {
  requireOwnPage(options.response.response.clientDataJSON);
  const attestation = isoBase64URL.toBuffer(options.response.response.attestationObject);
  const decoded = decodeAttestationObject(attestation);
  if (!['none', 'packed'].includes(decoded.get('fmt')) || decoded.get('attStmt').get('x5c') !== undefined) {
    throw new Error('the authenticator sent a certificate');
  }
  return verifyRegistrationResponse(options);
}

function requireOwnPage(clientDataJSON: string): void {
  if (decodeClientDataJSON(clientDataJSON).crossOrigin === true)
    throw new Error('a page of another site asked');
}

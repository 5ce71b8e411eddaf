import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto';

// An authenticator for passkeys in software, which says what a test wants. Chromium's own is in test/e2e/passkeys.test.ts.

export interface Says {
  origin?: string;
  rpId?: string;
  challenge?: string;
  /** The person has proved who they are, by a fingerprint or a PIN. */
  isVerified?: boolean;
  counter?: number;
  type?: string;
  /** A page of another site asked, within a frame. */
  crossOrigin?: boolean;
  /** The account that the passkey is for, as the authenticator keeps it. */
  userHandle?: string;
  /** CBOR of the attestation but for the data: its format and statement. */
  attestation?: string;
}

/** CBOR: fmt: "none", attStmt: {} */
const NO_ATTESTATION = '63666d74646e6f6e656761747453746d74a0';
/** CBOR: fmt: "packed", attStmt: { x5c: [] } */
export const WITH_CERTIFICATE = '63666d74667061636b65646761747453746d74a16378356380';
/** CBOR: fmt: "apple", attStmt: {} */
export const OTHER_FORMAT = '63666d74656170706c656761747453746d74a0';

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();

/** `id`: the ID of its passkey. */
export function createAuthenticator(id = randomBytes(16)) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  // CBOR: { 1: 2, 3: -7, -1: 1, -2: x, -3: y }
  const cose = Buffer.concat([
    Buffer.from('a5010203262001215820', 'hex'),
    Buffer.from(x, 'base64url'),
    Buffer.from('225820', 'hex'),
    Buffer.from(y, 'base64url'),
  ]);
  let counter = 0;

  const clientData = (type: string, options: { challenge: string }, says: Says) =>
    Buffer.from(
      JSON.stringify({
        type: says.type ?? type,
        challenge: says.challenge ?? options.challenge,
        origin: says.origin ?? 'https://tidings.test',
        crossOrigin: says.crossOrigin ?? false,
      }),
    );

  function authData(says: Says, attested: Buffer | null): Buffer {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(says.counter ?? ++counter);
    const flags = 1 | (says.isVerified === false ? 0 : 4) | (attested === null ? 0 : 64);
    return Buffer.concat([
      sha256(says.rpId ?? 'tidings.test'),
      Buffer.of(flags),
      count,
      attested ?? Buffer.alloc(0),
    ]);
  }

  const credential = (response: Record<string, unknown>) =>
    JSON.stringify({
      id: id.toString('base64url'),
      rawId: id.toString('base64url'),
      type: 'public-key',
      clientExtensionResults: {},
      response: Object.fromEntries(
        Object.entries(response).map(([name, value]) => [
          name,
          Buffer.isBuffer(value) ? value.toString('base64url') : value,
        ]),
      ),
    });

  return {
    id: id.toString('base64url'),
    /** Answers the options of a new passkey. */
    create(options: { challenge: string }, says: Says = {}): string {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(id.length);
      const data = authData(says, Buffer.concat([Buffer.alloc(16), length, id, cose]));
      const size = Buffer.alloc(2);
      size.writeUInt16BE(data.length);
      // CBOR: { fmt: …, attStmt: …, authData: data }
      const attestationObject = Buffer.concat([
        Buffer.from(`a3${says.attestation ?? NO_ATTESTATION}68617574684461746159`, 'hex'),
        size,
        data,
      ]);
      return credential({
        attestationObject,
        clientDataJSON: clientData('webauthn.create', options, says),
        transports: ['internal'],
      });
    },
    /** Answers a challenge. */
    get(options: { challenge: string }, says: Says = {}): string {
      const authenticatorData = authData(says, null);
      const clientDataJSON = clientData('webauthn.get', options, says);
      const signed = Buffer.concat([authenticatorData, sha256(clientDataJSON)]);
      const signature = createSign('sha256').update(signed).sign(privateKey);
      const { userHandle } = says;
      return credential({ authenticatorData, clientDataJSON, signature, ...(userHandle && { userHandle }) });
    },
  };
}

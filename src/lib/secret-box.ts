// AES-256-GCM, by Bun's own node:crypto. A sealed value is: version (1 byte), nonce (12), ciphertext, tag (16).

/** Loads at the first secret: it brings the streams of Node with it. */
const nodeCrypto = () => process.getBuiltinModule('node:crypto');

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export const SECRET_KEY_BYTES = 32;

export interface SecretBox {
  /** Binds the value to `context`, which `open` needs too, so that a value cannot be moved to another row. */
  seal(text: string, context: string): Buffer;
  /** Throws `WrongSecretKey` for another key or context, and for a changed value. */
  open(sealed: Buffer, context: string): string;
}

export class WrongSecretKey extends Error {
  override readonly name = 'WrongSecretKey';
  constructor() {
    super(
      'Stored secrets cannot be decrypted: SECRET_KEY, or secret.key in the data folder, is not the one they were encrypted with',
    );
  }
}

/**
 * Identifies a key without revealing anything about it: a signed 32-bit number for SQLite's `application_id`, never 0.
 */
export function keyFingerprint(key: Uint8Array): number {
  return new Bun.CryptoHasher('sha256', key).update('tidings key fingerprint').digest().readInt32BE(0) || 1;
}

export function secretBox(key: Uint8Array): SecretBox {
  return {
    seal(text, context) {
      const { createCipheriv, randomBytes } = nodeCrypto();
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
      const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(VERSION), nonce, ciphertext, cipher.getAuthTag()]);
    },
    open(sealed, context) {
      try {
        const { createDecipheriv } = nodeCrypto();
        const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
        const tag = sealed.subarray(sealed.length - TAG_BYTES);
        const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
          .setAAD(Buffer.from(context))
          .setAuthTag(tag);
        const ciphertext = sealed.subarray(1 + NONCE_BYTES, sealed.length - TAG_BYTES);
        return decipher.update(ciphertext, undefined, 'utf8') + decipher.final('utf8');
      } catch {
        throw new WrongSecretKey();
      }
    },
  };
}

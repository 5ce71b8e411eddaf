import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

// AES-256-GCM, by Bun's own node:crypto. A sealed value is: version (1 byte), nonce (12), ciphertext, tag (16).

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The length of the key, in bytes. */
export const SECRET_KEY_BYTES = 32;

/** Encrypts what must not lie in the database in the clear. */
export interface SecretBox {
  /** `context` names what the value belongs to; the same is needed to open it, so that a value cannot be moved. */
  seal(text: string, context: string): Buffer;
  /** Throws `WrongSecretKey` for a value that was sealed under another key or context, or was changed. */
  open(sealed: Buffer, context: string): string;
}

/** Secrets cannot be read: another key than the one that they were encrypted under. */
export class WrongSecretKey extends Error {
  override readonly name = 'WrongSecretKey';
  constructor() {
    super(
      'Stored secrets cannot be decrypted: SECRET_KEY, or secret.key in the data folder, is not the one they were encrypted with',
    );
  }
}

/**
 * A number that tells one key from another and nothing about either, to be kept beside what was sealed: 32 bits with a
 * sign, as SQLite's `application_id` holds them, and never 0.
 */
export function keyFingerprint(key: Uint8Array): number {
  return new Bun.CryptoHasher('sha256', key).update('tidings key fingerprint').digest().readInt32BE(0) || 1;
}

/** `key`: 32 bytes. */
export function secretBox(key: Uint8Array): SecretBox {
  return {
    seal(text, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
      const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(VERSION), nonce, ciphertext, cipher.getAuthTag()]);
    },
    open(sealed, context) {
      try {
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

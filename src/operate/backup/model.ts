import { type Static, Type } from '@sinclair/typebox';

/** A backup or a restore that cannot be done. The message says why, in one line, and what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

/** A store of backups refused or did not answer. Trying again later may help. */
export class StoreError extends BackupError {}

const Whole = Type.Integer({ minimum: 0 });
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });

/** The first line of a backup, as JSON. */
export const BackupHeader = Type.Object({
  format: Type.Literal('tidings-backup'),
  /** Of the form of the file. */
  version: Type.Literal(1),
  createdAt: Type.String({ maxLength: 32 }),
  /** How many migrations the database has had. */
  schema: Whole,
  tables: Type.Record(Type.String(), Whole),
  /** Of the database, before it was compressed. */
  databaseBytes: Whole,
  databaseSha256: Sha256,
  /** Tells the key that the secrets are encrypted under from others, and nothing about it. 0: there is none yet. */
  keyFingerprint: Type.Integer(),
  /** The key itself, in base64, when that was asked for. */
  key: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9+/]{43}=$' })),
});
export type BackupHeader = Static<typeof BackupHeader>;

/** A backup that was made and checked. */
export interface Backup {
  /** A path, or `s3://bucket/key`. */
  file: string;
  bytes: number;
  /** Of the whole file, in hex, as `sha256sum` prints it. */
  sha256: string;
  schema: number;
  /** How many rows each table holds. */
  tables: Record<string, number>;
  createdAt: string;
  includesKey: boolean;
}

/** How an S3-compatible store is reached. */
export interface S3Access {
  /** Absent: AWS. */
  endpoint?: string | undefined;
  region?: string | undefined;
  accessKeyId: string;
  secretAccessKey: string;
  /** How long the store may send and take nothing, in milliseconds. Absent: a minute. */
  stallMs?: number | undefined;
}

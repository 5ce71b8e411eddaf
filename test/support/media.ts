import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openFileStore } from '../../src/lib/file-store.ts';
import type { MediaPlace } from '../../src/people/deps.ts';
import { temporaryFolder } from './cli.ts';
import { type S3Server, startS3Server } from './s3-server.ts';

/** An image of `test/fixtures/images`. */
export function imageFixture(name: string): Buffer<ArrayBuffer> {
  return Buffer.from(readFileSync(join(import.meta.dir, '../fixtures/images', name)));
}

export interface TestMedia extends Disposable {
  /** Null for a folder. */
  readonly bucket: S3Server | null;
  readonly place: MediaPlace & { readonly files: NonNullable<MediaPlace['files']> };
}

/** A place for images: a folder, or a bucket of a server over real HTTP. */
export function testMedia(kind: 'folder' | 'bucket' = 'folder', quotaBytes = 1024 * 1024): TestMedia {
  const folder = temporaryFolder();
  const server = kind === 'bucket' ? startS3Server() : null;
  const files =
    server === null
      ? openFileStore(join(folder.path, 'media'))
      : openFileStore('s3://backups/images', {
          endpoint: server.url,
          region: 'us-east-1',
          accessKeyId: 'test-id',
          secretAccessKey: 'test-secret',
          // More than a busy machine takes to answer.
          stallMs: 3_000,
        });
  return {
    bucket: server,
    place: { files, whyOff: null, quotaBytes },
    [Symbol.dispose]() {
      folder.remove();
      server?.[Symbol.dispose]();
    },
  };
}

/** The body of the upload form. */
export function uploadOf(name: string, bytes: Uint8Array<ArrayBuffer>, alt?: string): RequestInit {
  const body = new FormData();
  body.set('file', new File([bytes], name));
  if (alt !== undefined) body.set('alt', alt);
  return { method: 'POST', body };
}

/** As the editor's script sends it. */
export function scriptUploadOf(name: string, bytes: Uint8Array<ArrayBuffer>): RequestInit {
  return { ...uploadOf(name, bytes), headers: { accept: 'application/json' } };
}

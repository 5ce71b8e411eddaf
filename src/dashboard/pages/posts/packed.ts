import { promisify } from 'node:util';
import { deflateRaw, inflateRaw, type ZlibOptions } from 'node:zlib';
import { AppError } from '../../../lib/app-error.ts';

// A long text in a hidden field, for a form that sends it back: compressed, so that it is written into the page, sent and
// read again in a fraction of the time. Threads do the work.

const deflate = promisify<Uint8Array, ZlibOptions, Buffer>(deflateRaw);
const inflate = promisify<Uint8Array, ZlibOptions, Buffer>(inflateRaw);

export async function pack(text: string): Promise<string> {
  return (await deflate(Buffer.from(text), { level: 1 })).toString('base64url');
}

/** The inverse. Throws `AppError` 400 for anything else, and for a text of more bytes. */
export async function unpack(packed: string, maxBytes: number): Promise<string> {
  try {
    const bytes = await inflate(Buffer.from(packed, 'base64url'), { maxOutputLength: maxBytes });
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new AppError(400, 'The text of the preview is incomplete. Choose the file again.', { cause });
  }
}

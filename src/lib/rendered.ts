/** A body that is ready to send, with its strong `ETag`. Never changed: it may be sent many times. */
export interface Rendered {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

/** The same bytes give the same tag. */
export function rendered(body: Uint8Array<ArrayBuffer>): Rendered {
  return { body, etag: `"${Bun.hash(body).toString(36)}"` };
}

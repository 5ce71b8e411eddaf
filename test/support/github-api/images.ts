import type { Clock } from '../../../src/lib/time.ts';

/** GitHub signs the address of an attachment for this long. */
const SIGNED_MS = 300_000;

export interface StoredImage {
  bytes: Uint8Array<ArrayBuffer>;
  type: string;
  /** True for one of a private repository. */
  isPrivate: boolean;
}

/** Attachments of release notes: the website redirects to a signed address at the storage, which expires. */
export function serveImages(clock: Clock, isToken: (authorization: string | null) => boolean) {
  const images = new Map<string, StoredImage>();
  const secret = crypto.randomUUID();
  const signatureOf = (id: string, expires: string) =>
    new Bun.CryptoHasher('sha256', secret).update(`${id} ${expires}`).digest('hex');

  function redirect(id: string, request: Request): Response {
    const image = images.get(id);
    if (image === undefined || (image.isPrivate && !isToken(request.headers.get('authorization')))) {
      return new Response('Not Found', { status: 404 });
    }
    const expires = String(clock.now().getTime() + SIGNED_MS);
    const query = new URLSearchParams({ expires, signature: signatureOf(id, expires) });
    const location = new URL(`/user-assets/${id}?${query}`, request.url).href;
    return new Response(null, { status: 302, headers: { location } });
  }

  function send(id: string, { searchParams }: URL): Response {
    const image = images.get(id);
    const expires = searchParams.get('expires') ?? '';
    const isSigned = searchParams.get('signature') === signatureOf(id, expires);
    if (image === undefined || !isSigned || clock.now().getTime() > Number(expires)) {
      const xml =
        '<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>';
      return new Response(xml, { status: 403, headers: { 'content-type': 'application/xml' } });
    }
    return new Response(image.bytes, { headers: { 'content-type': image.type } });
  }

  return {
    /** Adds an image. Returns its path at the website. */
    add(image: StoredImage): string {
      const id = crypto.randomUUID();
      images.set(id, image);
      return `/user-attachments/assets/${id}`;
    },

    /** Null for another address. */
    respond(request: Request): Response | null {
      const url = new URL(request.url);
      const [, kind, id = ''] =
        /^\/(user-attachments\/assets|user-assets)\/([^/]+)$/.exec(url.pathname) ?? [];
      if (kind === undefined) return null;
      return kind === 'user-assets' ? send(id, url) : redirect(id, request);
    },
  };
}

import type { VNode } from 'preact';
import type { Visit } from './page.ts';
import { renderFragment, splitAtPieces } from './view/document.tsx';
import { FormError } from './view/form.tsx';

/**
 * The bytes of a page whose pieces are made while it is sent. A piece that fails is the last one: the status is sent
 * already, so `describe` makes a sentence of the failure. When the client leaves, no further piece is made.
 */
export async function* streamPage(
  html: string,
  pieces: AsyncIterable<VNode>,
  visit: Visit,
  describe: (error: unknown) => string,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  const encode = (body: VNode) => encoder.encode(renderFragment({ kind: 'fragment', body }, visit));
  const [before, after] = splitAtPieces(html);
  yield encoder.encode(before);
  try {
    for await (const piece of pieces) yield encode(piece);
  } catch (error) {
    if (visit.request.signal.aborted) return;
    yield encode(<FormError error={describe(error)} />);
  }
  yield encoder.encode(after);
}

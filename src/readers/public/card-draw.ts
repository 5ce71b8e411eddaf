import { readFileSync } from 'node:fs';
import { initSync, Renderer } from '@takumi-rs/wasm';
import wasm from '@takumi-rs/wasm/takumi_wasm_bg.wasm' with { type: 'file' };
import arabic from '../../http/look/fonts/card-arabic.woff2' with { type: 'file' };
import cyrillic from '../../http/look/fonts/card-cyrillic.woff2' with { type: 'file' };
import greek from '../../http/look/fonts/card-greek.woff2' with { type: 'file' };
import latinExt from '../../http/look/fonts/card-latin-ext.woff2' with { type: 'file' };
import vietnamese from '../../http/look/fonts/card-vietnamese.woff2' with { type: 'file' };
import latin from '../../http/look/fonts/source-serif-4.woff2' with { type: 'file' };
import type { Card } from './cards.ts';

// Only the thread loads this module: the renderer takes some 40 MB while it lives.

const WIDTH = 1200;
const HEIGHT = 630;

/** The colors of the light theme. */
const PAPER = '#fbfaf6';
const INK = '#1d1b16';
const SOFT = '#5f5a4e';

/** In the binary the module is compressed: see `build.ts`. */
function unpacked(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const isCompressed = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0) === 0x28b52ffd;
  return isCompressed ? new Uint8Array(Bun.zstdDecompressSync(bytes)) : bytes;
}

function openRenderer(): Renderer {
  initSync({ module: unpacked(new Uint8Array(readFileSync(wasm))) });
  // Every card has other texts, so nothing would be found in a cache.
  const renderer = new Renderer();
  for (const [index, file] of [latin, latinExt, vietnamese, greek, cyrillic, arabic].entries()) {
    renderer.registerFont({ name: `serif-${index}`, data: readFileSync(file) });
  }
  return renderer;
}

let renderer: Renderer | undefined;

export async function drawCard(card: Card): Promise<Uint8Array<ArrayBuffer>> {
  renderer ??= openRenderer();
  return renderer.render(layOut(card), { width: WIDTH, height: HEIGHT, format: 'png' });
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff]/;

/** The direction of the first letter, as `dir="auto"` takes it. */
function directionOf(text: string) {
  const isReversed = RIGHT_TO_LEFT.test(/\p{L}/u.exec(text)?.[0] ?? '');
  return isReversed
    ? // Spacing would tear joined letters apart; their marks need taller lines.
      ({ direction: 'rtl', textAlign: 'right', letterSpacing: 0, lineHeight: 1.4 } as const)
    : ({} as const);
}

const oneLine = {
  display: 'block',
  whiteSpace: 'nowrap',
  overflow: 'hidden',
  textOverflow: 'ellipsis',
} as const;

export function layOut({ heading, title, footer, accentColor }: Card) {
  const line = (text: string, color: string) => ({
    type: 'text' as const,
    text,
    style: {
      ...oneLine,
      width: '100%',
      fontSize: 32,
      fontWeight: 600,
      lineHeight: 1.3,
      color,
      ...directionOf(text),
    },
  });
  return {
    type: 'container' as const,
    style: {
      display: 'flex',
      flexDirection: 'column',
      justifyContent: 'space-between',
      width: WIDTH,
      height: HEIGHT,
      padding: '64px 80px 60px',
      borderLeft: `24px solid ${accentColor}`,
      backgroundColor: PAPER,
      fontFamily: 'serif-0, serif-1, serif-2, serif-3, serif-4, serif-5',
    } as const,
    children: [
      line(heading, SOFT),
      {
        type: 'text' as const,
        text: title,
        style: {
          display: 'block',
          width: '100%',
          fontSize: sizeOf(title),
          fontWeight: 600,
          lineHeight: 1.15,
          letterSpacing: '-0.01em',
          lineClamp: 4,
          overflow: 'hidden',
          textOverflow: 'ellipsis',
          overflowWrap: 'anywhere',
          color: INK,
          ...directionOf(title),
        } as const,
      },
      line(footer, SOFT),
    ],
  };
}

function sizeOf(title: string): number {
  if (title.length <= 40) return 96;
  return title.length <= 80 ? 80 : 68;
}

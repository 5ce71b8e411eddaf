import type { Terminal } from './terminal.ts';

/** One changing line on a terminal, or none anywhere else. */
export interface Progress {
  readonly isShown: boolean;
  /** `part`: draws a bar. */
  show(text: string, part?: { done: number; of: number }): void;
  clear(): void;
}

const BAR_WIDTH = 20;

/** How often the line changes at most, in milliseconds. */
const PAUSE_MS = 80;

export function progressOf({ isInteractive, writeError, width, hasSymbols }: Terminal): Progress {
  const columns = Number.isFinite(width) ? width : 80;
  let shownAt = Number.NEGATIVE_INFINITY;
  let last = '';
  return {
    isShown: isInteractive,
    show(text, part) {
      const now = performance.now();
      const isSoon = now - shownAt < PAUSE_MS;
      const line = `${part === undefined ? '' : `${barOf(part, hasSymbols)} `}${text}…`.slice(0, columns - 1);
      if (!isInteractive || isSoon || line === last) return;
      [shownAt, last] = [now, line];
      writeError(`\r\u001b[K${line}`);
    },
    clear() {
      if (isInteractive && last !== '') writeError('\r\u001b[K');
      last = '';
    },
  };
}

function barOf({ done, of }: { done: number; of: number }, hasSymbols: boolean): string {
  const full = Math.round((Math.min(done, of) / Math.max(of, 1)) * BAR_WIDTH);
  const [on, off] = hasSymbols ? ['█', '░'] : ['#', '.'];
  return on.repeat(full) + off.repeat(BAR_WIDTH - full);
}

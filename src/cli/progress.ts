import type { Terminal } from './output.ts';

const WIDTH = 30;

/** A bar that fills on standard error while somebody watches; nothing otherwise. `done` takes it away. */
export function progressBar(terminal: Terminal, label: string) {
  let shownPercent = -1;
  return {
    show(done: number, total: number): void {
      const percent = Math.floor((done / total) * 100);
      if (!terminal.isInteractive || percent === shownPercent) return;
      shownPercent = percent;
      const filled = Math.round((percent / 100) * WIDTH);
      const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}`;
      terminal.writeError(`\r${label}  ${bar}  ${String(percent).padStart(3)} %  ${done} of ${total}`);
    },
    done(): void {
      if (shownPercent >= 0) terminal.writeError('\r\u001b[K');
    },
  };
}

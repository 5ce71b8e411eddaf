#!/usr/bin/env bun
import { setPriority } from 'node:os';
import { restartWithEngineOptions } from './lib/build.ts';

if (import.meta.main) {
  // Before anything else loads, which would load twice.
  if (Bun.argv[2] === 'serve') restartWithEngineOptions();
  // The server beside it goes first. Threads that start later inherit this.
  if (Bun.argv[2] === 'backup') beNice();
  const { runCli } = await import('./cli/program.ts');
  const { processTerminal } = await import('./cli/output.ts');
  process.exitCode = await runCli(Bun.argv.slice(2), { terminal: processTerminal() });
  // Otherwise Bun waits for the next change, and a person must press Ctrl-C twice.
  if (process.execArgv.includes('--watch')) process.exit();
}

function beNice(): void {
  try {
    // A tenth of a busy processor. The lowest priority, 19, would get a hundredth, and the backup must end, too.
    setPriority(10);
  } catch {
    // A sandbox may forbid it, and the backup matters more.
  }
}

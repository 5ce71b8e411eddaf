#!/usr/bin/env bun
import { restartWithEngineOptions } from './lib/engine-options.ts';

if (import.meta.main) {
  // Before anything else loads, which would load twice.
  if (Bun.argv[2] === 'serve') restartWithEngineOptions();
  const { runCli } = await import('./cli/run.ts');
  const { processTerminal } = await import('./cli/terminal.ts');
  process.exitCode = await runCli(Bun.argv.slice(2), { terminal: processTerminal() });
}

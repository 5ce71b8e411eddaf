#!/usr/bin/env bun
import { CommanderError } from 'commander';
import { type CliContext, WorkFailed } from './cli/context.ts';
import { complain } from './cli/output.ts';
import { buildProgram } from './cli/program.ts';
import { processTerminal } from './cli/terminal.ts';
import { ConfigError } from './config.ts';

// Exit codes. Misused: an unknown command, a missing option, an invalid setting.
const FAILED = 1;
const MISUSED = 2;

export async function runCli(words: readonly string[], context: CliContext): Promise<number> {
  try {
    const program = await buildProgram(context, words);
    await program.parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : MISUSED;
    if (error instanceof WorkFailed) return FAILED;
    // It knows the errors of every command, so it loads only for one.
    const { messageOf } = await import('./cli/failure.ts');
    const message = messageOf(error);
    if (message === undefined) throw error;
    complain(context.terminal, 'error', message);
    return error instanceof ConfigError ? MISUSED : FAILED;
  }
}

if (import.meta.main) {
  process.exitCode = await runCli(Bun.argv.slice(2), { terminal: processTerminal() });
}

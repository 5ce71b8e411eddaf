import { CommanderError } from 'commander';
import { ConfigError } from '../config.ts';
import { type CliContext, WorkFailed } from './context.ts';
import { complain } from './output.ts';
import { buildProgram } from './program.ts';

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
    const { messageOf } = await import('./failure.ts');
    const message = messageOf(error);
    if (message === undefined) throw error;
    complain(context.terminal, 'error', message);
    return error instanceof ConfigError ? MISUSED : FAILED;
  }
}

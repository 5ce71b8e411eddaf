import { type Command, Option } from 'commander';
import { readConfig, settings } from '../config.ts';
import { checkHealth } from '../operate/healthcheck.ts';
import { type CliContext, flagsOf } from './context.ts';
import { print } from './output.ts';

export function addHealthcheckCommand(program: Command, context: CliContext): void {
  program
    .command('healthcheck')
    .description('ask whether the service answers: exit 0 when it does within a second, 1 when not')
    .addOption(
      new Option(settings.HOST.flag, `address that it listens on (default: ${settings.HOST.default}) [HOST]`),
    )
    .addOption(
      new Option(settings.PORT.flag, `port that it listens on (default: ${settings.PORT.default}) [PORT]`),
    )
    .action(async (_options: object, command: Command) => {
      const health = await checkHealth(readConfig(flagsOf(command), context.environment));
      print(context.terminal, command, health, ({ url }) => `${url} answers`);
    });
}

import { get, type IncomingMessage } from 'node:http';
import { type Command, Option } from 'commander';
import { readConfig, settings } from '../config.ts';
import { AppError } from '../lib/app-error.ts';
import { type CliContext, flagsOf } from './context.ts';
import { print } from './output.ts';

/** How long the server may take to answer, in milliseconds. */
const TIMEOUT_MS = 1_000;

/** The addresses that mean "every address of this machine", and the one to ask instead. */
const loopback: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1', '[::]': '::1' };

interface Health {
  /** The requested URL, such as `http://127.0.0.1:3000/ping`. */
  url: string;
  status: number;
}

/**
 * Asks the server that listens on `host` and `port` whether it answers. Throws `AppError` 503 when it does not
 * within a second, or not with 200, and 400 for the port 0, which says nothing of where it listens.
 */
async function checkHealth({ host, port }: { host: string; port: number }): Promise<Health> {
  if (port === 0) throw new AppError(400, 'PORT is 0, so the port is not known: name it with --port');
  const address = loopback[host] ?? host;
  const url = `http://${address.includes(':') && !address.startsWith('[') ? `[${address}]` : address}:${port}/ping`;
  const status = await statusOf(url);
  if (status !== 200) throw new AppError(503, `${url} answered ${status}, not 200`);
  return { url, status };
}

/** By `node:http`, as `fetch` would ask the proxy that a container is often given in `HTTP_PROXY`. */
async function statusOf(url: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = get(url, { agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) }, resolve);
  request.on('error', reject);
  try {
    return (await promise).statusCode ?? 0;
  } catch (error) {
    throw new AppError(503, `${url}: ${reasonOf(error)}`, { cause: error });
  } finally {
    request.destroy();
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'ECONNREFUSED') return 'nothing listens there';
  const isLate = error.name === 'AbortError' || error.name === 'TimeoutError';
  return isLate ? `not answered within ${TIMEOUT_MS / 1000} s` : error.message;
}

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

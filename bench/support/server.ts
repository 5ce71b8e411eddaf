import { join } from 'node:path';
import { settingNames } from '../../src/server/settings.ts';
import { type Bench, BenchError } from './run.ts';

/** A server in a process of its own. */
export interface Server {
  readonly url: string;
  readonly pid: number;
  /** Again is no error. */
  stop(): Promise<void>;
}

/** A program to start. */
export interface Program {
  /** Absent: Bun, which `words` follow. */
  executable?: string;
  words: string[];
  /** The line by which it says where it listens; the URL is in the group. Absent: `Listening on URL`. */
  announcement?: RegExp;
  environment?: Record<string, string>;
}

const START_MS = 60_000;
const STOP_MS = 10_000;

const LISTENING = /^Listening on (http:\S+)\n/m;

const REPOSITORY = Bun.fileURLToPath(import.meta.resolve('../..'));
const CLI = join(REPOSITORY, 'src/cli.ts');

/** The command line from source. */
export const cli = (...words: string[]): string[] => [process.execPath, CLI, ...words];

/** The real service, as somebody who deploys it would start it. */
export const tidings = (dataDir: string, ...words: string[]): Program => ({
  words: [CLI, 'serve', '--port', '0', '--data-dir', dataDir, ...words],
});

/** The same as a binary of its own, with the memory options of the container and the systemd unit. */
export const tidingsBinary = (executable: string, dataDir: string, ...words: string[]): Program => ({
  executable,
  words: ['serve', '--port', '0', '--data-dir', dataDir, ...words],
  environment: {
    BUN_JSC_forceRAMSize: '536870912',
    BUN_JSC_useFTLJIT: '0',
    BUN_CONFIG_MAX_HTTP_REQUESTS: '1024',
  },
});

export const peer = (file: string, ...words: string[]): Program => ({
  words: [join(REPOSITORY, 'bench/peers', file), ...words],
});

/** Starts a program on the core of servers and waits until it says where it listens. Throws `BenchError`. */
export async function startServer(
  { folder, cores, defer }: Pick<Bench, 'folder' | 'cores' | 'defer'>,
  { executable = process.execPath, words, announcement = LISTENING, environment }: Program,
): Promise<Server> {
  const errors = Bun.file(join(folder, `server-${Bun.randomUUIDv7()}.log`));
  const child = Bun.spawn([...cores.server, executable, ...words], {
    cwd: REPOSITORY,
    env: { ...defaultEnvironment(), ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: errors,
  });
  const stop = async () => {
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await child.exited;
    clearTimeout(late);
    forget();
  };
  const forget = defer(stop);
  const url = await announcedUrl(child.stdout, announcement);
  if (url === null) throw new BenchError(`${words[0]} did not start: ${await errors.text()}`);
  return { url, pid: child.pid, stop };
}

/** The settings of this shell must not change what is measured. An empty one counts as unset. */
function defaultEnvironment(): Record<string, string | undefined> {
  return { ...Bun.env, ...Object.fromEntries(settingNames.map((name) => [name, ''])) };
}

/** Null when the output ends or stays silent. */
async function announcedUrl(
  output: ReadableStream<Uint8Array>,
  announcement: RegExp,
): Promise<string | null> {
  const reader = output.getReader();
  const timer = setTimeout(() => void reader.cancel(), START_MS);
  const decoder = new TextDecoder();
  try {
    for (let said = ''; ; ) {
      const { value, done } = await reader.read();
      if (done) return null;
      said += decoder.decode(value, { stream: true });
      const url = announcement.exec(said)?.[1];
      if (url !== undefined) return url;
    }
  } finally {
    clearTimeout(timer);
    reader.releaseLock();
  }
}

/** Runs a command to its end and returns its output. Throws `BenchError` with its last lines if it fails. */
export async function run(
  { defer }: Pick<Bench, 'defer'>,
  words: string[],
  { cwd = REPOSITORY, environment = {} }: { cwd?: string; environment?: Record<string, string> } = {},
): Promise<string> {
  const env = { ...Bun.env, ...environment };
  const child = Bun.spawn(words, { cwd, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const forget = defer(async () => child.kill('SIGKILL'));
  const [output, errors] = await Promise.all([
    Bun.readableStreamToText(child.stdout),
    Bun.readableStreamToText(child.stderr),
  ]);
  const exitCode = await child.exited;
  forget();
  if (exitCode === 0) return output;
  const last = `${output}\n${errors}`.trim().split('\n').slice(-3).join('\n');
  throw new BenchError(`${words.slice(0, 4).join(' ')} failed: ${last}`);
}

import { settingNames } from '../../src/server/settings.ts';
import { BenchError } from './bench-error.ts';
import type { Defer } from './run.ts';

/** A server in a process of its own. */
export interface Server {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  /** Again is no error. */
  stop(): Promise<void>;
}

/** A program to start. */
export interface Program {
  name: string;
  /** Absent: Bun, which `words` follow. */
  executable?: string;
  words: string[];
  /** The line by which it says where it listens; the URL is in the group. Absent: `Listening on URL`. */
  announcement?: RegExp;
  /** Instead of an announcement: where the program listens once this path responds. */
  health?: { url: string; path: string };
  environment?: Record<string, string>;
}

const START_MS = 60_000;
const STOP_MS = 10_000;

const LISTENING = /^Listening on (http:\S+)\n/m;

const REPOSITORY = Bun.fileURLToPath(import.meta.resolve('../..'));
const RAW = Bun.fileURLToPath(import.meta.resolve('../peers/raw.ts'));

/** The real service, as somebody who deploys it would start it. */
export const tidings = (dataDir: string): Program => ({
  name: 'tidings',
  words: [
    Bun.fileURLToPath(import.meta.resolve('../../src/cli.ts')),
    'serve',
    '--port',
    '0',
    '--data-dir',
    dataDir,
  ],
});

/** The same on PostgreSQL. */
export const tidingsOnPostgres = (databaseUrl: string, secretKey: string, dataDir: string): Program => {
  const { name, words } = tidings(dataDir);
  return { name, words: [...words, '--database-url', databaseUrl, '--secret-key', secretKey] };
};

/** The same as a binary of its own, with the memory options of the container and the systemd unit. */
export const tidingsBinary = (executable: string, dataDir: string): Program => ({
  name: 'tidings-binary',
  executable,
  words: ['serve', '--port', '0', '--data-dir', dataDir],
  environment: {
    BUN_JSC_forceRAMSize: '134217728',
    BUN_JSC_useFTLJIT: '0',
    BUN_CONFIG_MAX_HTTP_REQUESTS: '1024',
  },
});

/** PocketBase, which wants to be told a port, and takes a binary in the folder of temporary files for a developer's. */
export const pocketbase = (executable: string, folder: string, port: number): Program => ({
  name: 'pocketbase',
  executable,
  words: ['serve', `--http=127.0.0.1:${port}`, `--dir=${folder}`, '--dev=false'],
  announcement: /Server started at (http:\S+)\n/,
});

export const hello: Program = {
  name: 'hello',
  words: [Bun.fileURLToPath(import.meta.resolve('../peers/hello.ts'))],
};

export const raw = (databaseFile: string): Program => ({
  name: 'raw',
  words: [RAW, databaseFile],
});

/** Sends the bytes of a file as every response. */
export const constant = (name: string, file: string, encoding?: string): Program => ({
  name,
  words: [
    Bun.fileURLToPath(import.meta.resolve('../peers/constant.ts')),
    file,
    ...(encoding === undefined ? [] : [encoding]),
  ],
});

export const rawWebhooks = (databaseFile: string, secret: string): Program => ({
  name: 'one commit each',
  words: [Bun.fileURLToPath(import.meta.resolve('../peers/raw-webhooks.ts')), databaseFile, secret],
});

/** Starts a program on a core and waits until it says where it listens. Throws `BenchError` when it does not. */
export async function startServer(
  { name, executable = process.execPath, words, announcement = LISTENING, health, environment }: Program,
  { core, logFile, defer }: { core: string[]; logFile: string; defer: Defer },
): Promise<Server> {
  const child = Bun.spawn([...core, executable, ...words], {
    cwd: REPOSITORY,
    env: { ...defaultEnvironment(), ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: Bun.file(logFile),
  });
  const stop = async () => {
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await child.exited;
    clearTimeout(late);
    forget();
  };
  const forget = defer(stop);

  const url = await (health === undefined
    ? listeningUrl(child.stdout, announcement)
    : healthyUrl(health, child));
  if (url === null) {
    throw new BenchError(`${name} did not start:\n${await Bun.file(logFile).text()}`);
  }
  return { name, url, pid: child.pid, stop };
}

/** The settings of this shell must not change what is measured. An empty one counts as unset. */
function defaultEnvironment(): Record<string, string | undefined> {
  return { ...Bun.env, ...Object.fromEntries(settingNames.map((name) => [name, ''])) };
}

/** From the line that announces it. Null when the output ends or stays silent. */
async function listeningUrl(
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

/** Once its health check passes. Null when the process ends or takes too long. */
async function healthyUrl(
  { url, path }: NonNullable<Program['health']>,
  child: { exitCode: number | null },
): Promise<string | null> {
  for (const until = Date.now() + START_MS; Date.now() < until && child.exitCode === null; ) {
    const response = await fetch(url + path).catch(() => null);
    if (response?.ok) return url;
    await Bun.sleep(100);
  }
  return null;
}

/** A port that nobody listens on now. */
export function freePort(): number {
  const socket = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } });
  const { port } = socket;
  socket.stop(true);
  return port;
}

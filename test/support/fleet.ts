import { hmacSha256 } from '../../src/providers/provider.ts';
import { cliJson, temporaryFolder } from './cli.ts';
import { type ServerProcess, startTidings } from './server.ts';

// Several processes of Tidings on one PostgreSQL, and senders that deliver to them.

const SECRET_KEY = Buffer.alloc(32, 7).toString('base64');

export interface Fleet extends AsyncDisposable {
  /** The processes that run, in the order in which they were started. */
  readonly servers: ServerProcess[];
  readonly environment: Record<string, string>;
  /** Starts one more process, which has its place in `servers` once it listens. */
  add(environment?: Record<string, string>): Promise<ServerProcess>;
  /** Ends a process and resolves with its exit code. */
  end(server: ServerProcess, signal?: NodeJS.Signals): Promise<number>;
  /** The result of a command on the database. */
  json(...words: string[]): ReturnType<typeof cliJson>;
}

/** Starts `count` processes on the database, one after the other. */
export async function startFleet(
  databaseUrl: string,
  count: number,
  settings: Record<string, string> = {},
): Promise<Fleet> {
  const folder = temporaryFolder();
  const environment = { DATABASE_URL: databaseUrl, SECRET_KEY, LOG_LEVEL: 'warn', ...settings };
  const fleet: Fleet = {
    servers: [],
    environment,
    async add(more = {}) {
      const server = await startTidings(folder.path, [], { environment: { ...environment, ...more } });
      fleet.servers.push(server);
      return server;
    },
    async end(server, signal = 'SIGTERM') {
      const code = await server.stop(signal);
      fleet.servers.splice(fleet.servers.indexOf(server), 1);
      return code;
    },
    json: (...words) => cliJson(folder.path, words, { environment }),
    async [Symbol.asyncDispose]() {
      await Promise.all(fleet.servers.splice(0).map((server) => server.stop('SIGKILL')));
      folder.remove();
    },
  };
  for (let started = 0; started < count; started++) await fleet.add();
  return fleet;
}

export interface Signed {
  /** The delivery id. */
  id: string;
  event: string;
  payload: object;
}

/** A connected repository `a/b` of the organization `acme`, and a way to deliver to it as GitHub does. */
export async function connectRepository(fleet: Pick<Fleet, 'json'>) {
  await fleet.json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const connect = ['integration', 'connect', 'github', '--organization', 'acme', '--repository', 'a/b'];
  const { integrationId, secret, webhookUrl } = await fleet.json(...connect);
  const path = new URL(webhookUrl).pathname;
  return {
    integrationId: integrationId as string,
    /** Sends it once and returns the status. Rejects when there is no answer. */
    async deliver(url: string, signed: Signed): Promise<number> {
      const response = await this.send(url, signed);
      await response.body?.cancel();
      return response.status;
    },
    send: (url: string, signed: Signed) => postSigned(url + path, secret, signed),
  };
}

/** Posts a delivery as GitHub does. */
export function postSigned(url: string, secret: string, { id, event, payload }: Signed): Promise<Response> {
  const body = JSON.stringify(payload);
  const headers = {
    'content-type': 'application/json',
    'x-github-event': event,
    'x-github-delivery': id,
    'x-hub-signature-256': `sha256=${hmacSha256(secret, body)}`,
  };
  return fetch(url, { method: 'POST', headers, body });
}

export const ping = (id: string, more = ''): Signed => ({ id, event: 'ping', payload: { zen: id + more } });

/** All entries of the log, by delivery id. */
export async function logById({ json }: Pick<Fleet, 'json'>) {
  const entries: { referenceId: string; status: string }[] = [];
  for (let page = 1; ; page++) {
    const words = ['--organization', 'acme', '--limit', '1000', '--page', String(page)];
    const found: typeof entries = await json('delivery', 'list', ...words);
    entries.push(...found);
    if (found.length < 1000) return Map.groupBy(entries, ({ referenceId }) => referenceId);
  }
}

/** Runs `work` on each item, `width` at a time. */
export async function inParallel<Item>(
  items: readonly Item[],
  width: number,
  work: (item: Item, index: number) => Promise<void>,
): Promise<void> {
  const entries = items.entries();
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (const [index, item] of entries) await work(item, index);
    }),
  );
}

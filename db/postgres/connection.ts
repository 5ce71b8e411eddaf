import { SQL } from 'bun';
import { ConnectionLost, endsConnection } from './errors.ts';
import { toPostgresSql, toPostgresValue } from './translate.ts';

// One connection. Bun's own pool opens a lost connection again in the middle of a transaction, whose first half is then
// missing; a reserved connection fails each statement after it was lost.

/** The rows of a statement, and the word that PostgreSQL ends it with, such as COMMIT. */
export type Answer = unknown[][] & { command: string };

export type ConnectionOptions = SQL.PostgresOrMySQLOptions;

export interface Connection {
  readonly isLost: boolean;
  /** Number of statements that wait for an answer. */
  readonly pending: number;
  /**
   * Sends a statement at once, after those that were sent before. Rejects with `ConnectionLost` or a `PostgresError`.
   * The connection is lost when the answer takes longer than `limitMs` after the one before it.
   */
  send(text: string, params?: readonly unknown[], limitMs?: number): Promise<Answer>;
  /** Counts time; to be called every `TICK_MS`. */
  tick(): void;
  /** Ends the connection. Statements without an answer reject. */
  destroy(reason?: ConnectionLost): void;
}

/**
 * How often connections are checked, in milliseconds. Time is counted in calls, so that a process that stood still does
 * not blame the server.
 */
export const TICK_MS = 250;

/** Opens a connection. Rejects when that takes longer than `connectMs`. */
export async function connect(
  options: ConnectionOptions,
  { answerMs, connectMs, onLost }: { answerMs: number; connectMs: number; onLost: () => void },
): Promise<Connection> {
  let lost: ConnectionLost | null = null;
  const lose = (reason: ConnectionLost) => {
    if (lost !== null) return;
    lost = reason;
    // A reserved connection outlives its pool.
    void reserved?.close({ timeout: 0 }).catch(() => undefined);
    void pool.close({ timeout: 0 }).catch(() => undefined);
    onLost();
  };
  const pool = new SQL({
    ...options,
    adapter: 'postgres',
    max: 1,
    bigint: true,
    idleTimeout: 0,
    maxLifetime: 0,
    connectionTimeout: Math.ceil(connectMs / 1_000),
    onclose: (error) => lose(new ConnectionLost(error)),
  });
  let reserved: Awaited<ReturnType<typeof pool.reserve>> | null = null;
  try {
    reserved = await pool.reserve();
  } catch (error) {
    void pool.close({ timeout: 0 }).catch(() => undefined);
    throw error;
  }
  const own = reserved;
  /** The limit of each statement that waits, in ticks. */
  const limits: number[] = [];
  /** Since the last answer. */
  let ticks = 0;

  function run(text: string, params: readonly unknown[]) {
    const statement = toPostgresSql(text);
    // Bun pipelines statements that are prepared, and of those without values only templates are.
    return params.length === 0
      ? own(templateOf(statement))
      : own.unsafe(statement, params.map(toPostgresValue));
  }

  return {
    get isLost() {
      return lost !== null;
    },
    get pending() {
      return limits.length;
    },
    async send(text, params = [], limitMs = answerMs) {
      if (lost !== null) throw lost;
      if (limits.length === 0) ticks = 0;
      limits.push(Math.ceil(limitMs / TICK_MS));
      try {
        return (await run(text, params).values().execute()) as unknown as Answer;
      } catch (error) {
        if (endsConnection(error)) lose(new ConnectionLost(error));
        if (error instanceof SQL.PostgresError) hideValues(error);
        throw lost ?? error;
      } finally {
        limits.shift();
        ticks = 0;
      }
    },
    tick() {
      const [limit] = limits;
      if (limit !== undefined && ++ticks > limit) lose(new ConnectionLost(undefined, true));
    },
    destroy: (reason = new ConnectionLost(undefined)) => lose(reason),
  };
}

/** The details of an error may hold values of rows, which must not reach a log. */
function hideValues(error: SQL.PostgresError): void {
  Object.assign(error, { detail: undefined, where: undefined });
}

const templates = new Map<string, TemplateStringsArray>();

/** The text as a template without values. */
function templateOf(text: string): TemplateStringsArray {
  const known = templates.get(text);
  if (known !== undefined) return known;
  if (templates.size >= 1_000) templates.clear();
  const template = Object.defineProperty([text], 'raw', { value: [text] }) as unknown as TemplateStringsArray;
  templates.set(text, template);
  return template;
}

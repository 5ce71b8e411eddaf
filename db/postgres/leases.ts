import { and, eq } from 'drizzle-orm';
import { afterCommit, type Lease, type WriteTx } from '../engine.ts';
import { leases } from '../schema/processes.ts';
import { arrayLiteral } from './dialect.ts';

// Leases in a table, without clocks: others take one over when its heartbeat has stood still for some time by their own
// clock.

const BEAT_MS = 1_000;

/** A holder whose last heartbeat is older does not count on its lease. */
const HELD_MS = 4_000;

/** Others take a lease over when its heartbeat has not changed for so long. */
export const STALE_MS = 5_000;

type Run = (text: string, params: readonly unknown[]) => Promise<unknown[][]>;

/**
 * Takes the first of the names that nobody holds, or whose holder is stale, and returns it as `[name, fence, null]`,
 * with all names that others hold as `[name, fence, beat]`. Transaction ids grow, so a fence is never used twice. A lease
 * that a transaction has checked is locked, and not taken over before its end.
 */
const TAKE = `
  WITH wanted AS (
    SELECT name, place FROM unnest(cast(? AS text[])) WITH ORDINALITY AS list (name, place)
  ), stale AS (
    SELECT name, fence FROM leases
    WHERE name IN (SELECT name FROM wanted)
      AND (name, fence, beat) IN (
        SELECT * FROM unnest(cast(? AS text[]), cast(? AS bigint[]), cast(? AS bigint[]))
      )
    FOR UPDATE SKIP LOCKED
  ), taken AS (
    INSERT INTO leases (name, holder, beat, fence)
    SELECT name, ?, 0, pg_current_xact_id()::text::bigint FROM wanted
    WHERE name IN (SELECT name FROM stale) OR name NOT IN (SELECT name FROM leases)
    ORDER BY place LIMIT 1
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, beat = 0, fence = excluded.fence
    WHERE (leases.name, leases.fence) IN (SELECT name, fence FROM stale)
    RETURNING name, fence
  )
  SELECT name, fence, NULL::bigint AS beat FROM taken
  UNION ALL
  SELECT name, fence, beat FROM leases WHERE name IN (SELECT name FROM wanted) AND name NOT IN (SELECT name FROM taken)`;

const BEAT = `
  UPDATE leases SET beat = beat + 1
  WHERE (name, fence) IN (SELECT * FROM unnest(cast(? AS text[]), cast(? AS bigint[])))
  RETURNING name, fence`;

const RELEASE = 'DELETE FROM leases WHERE name = ? AND fence = ?';

interface Held {
  name: string;
  fence: number;
  beatAt: number;
}

interface Seen {
  fence: number;
  beat: number;
  since: number;
  last: number;
}

/** `now` is monotonic, in milliseconds. `holder` names this process for people. */
export function createLeases(
  run: Run,
  holder: string,
  now: () => number = performance.now.bind(performance),
) {
  const held = new Set<Held>();
  const seen = new Map<string, Seen>();
  let beating: Promise<void> | null = null;
  const timer = setInterval(() => {
    if (held.size > 0) beating ??= beat().finally(() => (beating = null));
  }, BEAT_MS);
  timer.unref();

  async function beat(): Promise<void> {
    const leases = [...held];
    const sentAt = now();
    try {
      const rows = await run(BEAT, [
        arrayLiteral(leases.map(({ name }) => name)),
        bigints(leases.map(({ fence }) => fence)),
      ]);
      const fences = new Map(rows as [string, number][]);
      for (const lease of leases) {
        if (fences.get(lease.name) === lease.fence) lease.beatAt = sentAt;
        else held.delete(lease);
      }
    } catch {
      // The leases end by themselves, unless a later heartbeat arrives in time.
    }
  }

  async function lease(names: readonly string[]): Promise<Lease | null> {
    if (names.length === 0) return null;
    const sentAt = now();
    const stale = names.flatMap((name) => {
      const known = seen.get(name);
      return known !== undefined && sentAt - known.since >= STALE_MS ? [{ name, ...known }] : [];
    });
    const rows = (await run(TAKE, [
      arrayLiteral(names),
      arrayLiteral(stale.map(({ name }) => name)),
      bigints(stale.map(({ fence }) => fence)),
      bigints(stale.map(({ beat }) => beat)),
      holder,
    ])) as [name: string, fence: number, beat: number | null][];
    let taken: Held | null = null;
    for (const [name, fence, beat] of rows) {
      if (beat === null) taken = { name, fence, beatAt: sentAt };
      else observe(name, fence, beat, sentAt);
    }
    forget(names, new Set(rows.flatMap(([name, , beat]) => (beat === null ? [] : [name]))));
    // Another process was faster with the name that seemed free. The next ones may still be.
    if (taken === null) return rows.length < names.length ? lease(names) : null;
    held.add(taken);
    return toLease(taken);
  }

  function observe(name: string, fence: number, beat: number, at: number): void {
    const known = seen.get(name);
    const isSame = known !== undefined && known.fence === fence && known.beat === beat;
    seen.set(name, { fence, beat, since: isSame ? known.since : now(), last: at });
  }

  function forget(asked: readonly string[], present: ReadonlySet<string>): void {
    for (const name of asked) if (!present.has(name)) seen.delete(name);
    for (const [name, { last }] of seen) if (now() - last > 12 * STALE_MS) seen.delete(name);
  }

  function toLease(own: Held): Lease {
    return {
      name: own.name,
      fence: own.fence,
      isHeld: () => held.has(own) && now() - own.beatAt < HELD_MS,
      releaseIn(tx: WriteTx) {
        const isOwn = and(eq(leases.name, own.name), eq(leases.fence, own.fence));
        // Its failure is that of the commit.
        void tx.delete(leases).where(isOwn).run();
        afterCommit(tx, () => held.delete(own));
      },
      async release() {
        if (!held.delete(own)) return;
        // A process that cannot give it back loses it like one that ended.
        await run(RELEASE, [own.name, own.fence]).catch(() => undefined);
      },
    };
  }

  async function close(): Promise<void> {
    clearInterval(timer);
    await Promise.all([...held].map((own) => toLease(own).release()));
  }

  return { lease, beat, close };
}

function bigints(values: readonly number[]): string {
  return `{${values.join(',')}}`;
}

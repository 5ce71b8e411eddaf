import type { ReadTx, Storage } from './engine.ts';

// Services on behalf of somebody whose right to act may end at any moment, such as a person with a session.

/**
 * Throws when the right has ended. One query by an index. `isWriting`: in the transaction of the write, where the rows that
 * it read must stay as they are until the commit (`Dialect.keepRows`).
 */
export type Check = (tx: ReadTx, isWriting: boolean) => Promise<void>;

const unchecked = new WeakMap<object, object>();

const checks = new WeakMap<object, Check>();

/**
 * The same storage. Each `write` also checks, in its own transaction, so that nothing is written once the right has ended. The
 * check is sent first, and its answer awaited with those of the work: one round trip to the database.
 */
export function withCheck(storage: Storage, check: Check): Storage {
  const checked: Storage = {
    pace: storage.pace,
    read: (work, options) => storage.read(work, options),
    write: (work, options) =>
      storage.write(async (tx) => {
        const [checked, worked] = await Promise.allSettled([check(tx, true), Promise.try(work, tx)]);
        if (checked.status === 'rejected') throw checked.reason;
        if (worked.status === 'rejected') throw worked.reason;
        return worked.value;
      }, options),
    version: () => storage.version(),
  };
  unchecked.set(checked, storage);
  checks.set(checked, check);
  return checked;
}

/** Reads, and checks in the same snapshot. */
export async function readIfAllowed<Result>(
  storage: Pick<Storage, 'read'>,
  work: (tx: ReadTx) => Promise<Result>,
): Promise<Result> {
  const check = checks.get(storage);
  return storage.read(async (tx) => (await Promise.all([work(tx), check?.(tx, false)]))[0]);
}

/** Checks now, right before something outside of the database is changed. */
export async function requireStillAllowed(storage: Storage): Promise<void> {
  if (checks.has(storage)) await readIfAllowed(storage, async () => undefined);
}

/** The same service of another server. Each call of a method checks first. */
export function withCheckedCalls<Service extends object>(service: Service, storage: Storage): Service {
  const checked = new Proxy(service, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return async (...given: unknown[]) => {
        await requireStillAllowed(storage);
        return Reflect.apply(value, target, given);
      };
    },
  });
  unchecked.set(checked, service);
  return checked;
}

/**
 * The services without their checks, to take back or to finish what was begun while it was allowed. What they write must not
 * depend on anything that was decided since.
 */
export function toSettle<Services extends object>(services: Services): Services {
  const entries = Object.entries(services).map(([name, service]) => [
    name,
    unchecked.get(service) ?? service,
  ]);
  return Object.fromEntries(entries);
}

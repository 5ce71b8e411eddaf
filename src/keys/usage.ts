/** How much later than the last written use another must be to be written: the grain of "last used". */
const GRAIN_MS = 60_000;

/**
 * Remembers when keys were used, so that a request never waits for that to be written. The first use after a
 * quiet minute is due at once, further ones a minute later; `all` also names those that are not due.
 */
export class KeyUsage {
  readonly #pending = new Map<string, Date>();
  readonly #written = new Map<string, number>();

  record(keyId: string, at: Date): void {
    this.#pending.set(keyId, at);
  }

  /** The uses to write now. They stay due until `markWritten` is told of them. */
  due(now: Date, { all = false }: { all?: boolean | undefined } = {}): Map<string, Date> {
    const due = new Map<string, Date>();
    for (const [keyId, at] of this.#pending) {
      const writtenAt = this.#written.get(keyId) ?? Number.NEGATIVE_INFINITY;
      if (all || now.getTime() - writtenAt >= GRAIN_MS) due.set(keyId, at);
    }
    return due;
  }

  markWritten(uses: ReadonlyMap<string, Date>, now: Date): void {
    for (const [keyId, at] of uses) {
      this.#written.set(keyId, now.getTime());
      // A later use may have come while this one was written.
      if (this.#pending.get(keyId) === at) this.#pending.delete(keyId);
    }
  }
}

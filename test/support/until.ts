/** How long to wait between two looks, in milliseconds. */
const PAUSE_MS = 5;

/**
 * Polls `look` until `isThere` accepts its result. For work of another process: a test that waits
 * so is as quick as that process. A safety net: fails the test after `deadlineMs` with what was found last.
 */
export async function until<Found>(
  look: () => Promise<Found>,
  isThere: (found: Found) => boolean,
  deadlineMs = 120_000,
): Promise<Found> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const found = await look();
    if (isThere(found)) return found;
    if (performance.now() > deadline) {
      throw new Error(`still waiting after ${deadlineMs / 1000} s: ${JSON.stringify(found)}`);
    }
    await Bun.sleep(PAUSE_MS);
  }
}

import { afterEach, expect, test } from 'bun:test';
import { createLog } from '../../src/lib/log.ts';
import { guardDescriptors, readDescriptorLimit } from '../../src/server/start.ts';

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

function guard(limit: number | null) {
  const logged: Record<string, unknown>[] = [];
  const state = { open: 10, closed: 0 };
  const log = createLog('info', { write: (line) => void logged.push(JSON.parse(line)) });
  const closeIdle = () => {
    state.closed++;
    return 7;
  };
  const made = guardDescriptors({ log }, closeIdle, limit, () => state.open);
  stops.push(made.stop);
  return { made, state, logged };
}

test.skipIf(process.platform !== 'linux')('the limit is read from the system', () => {
  expect(readDescriptorLimit()).toBeGreaterThan(16);
});

test.each([
  [1024, 960],
  [100, 50],
])('of %i descriptors, connections may take what leaves %i in use', (limit, allowed) => {
  const { made, state, logged } = guard(limit);
  state.open = allowed;
  made.look();
  expect({ isFull: made.isFull, ...state }).toEqual({ isFull: false, open: allowed, closed: 0 });
  state.open = allowed + 1;
  made.look();
  made.look();
  expect({ isFull: made.isFull, closed: state.closed }).toEqual({ isFull: true, closed: 2 });
  // Logged once, not at every look.
  expect(logged).toMatchObject([{ level: 'warn', limit, allowed, closed: 7 }]);
  state.open = 20;
  made.look();
  expect(made.isFull).toBe(false);
});

test('without a known limit, nothing is refused', () => {
  const { made, state } = guard(null);
  state.open = 1e9;
  made.look();
  expect({ isFull: made.isFull, closed: state.closed }).toEqual({ isFull: false, closed: 0 });
});

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { root } from '../support/server.ts';

/** Runs code in a process of its own after it asked for a restart; the second start of it says so. */
function restarted(before: string): string {
  const build = join(root, 'src/lib/build.ts');
  const code = `
    ${before}
    const isSecond = process.env.BUN_JSC_useFTLJIT === '0';
    require(${JSON.stringify(build)}).restartWithEngineOptions();
    const thread = new Worker('data:text/javascript,postMessage("a thread")');
    thread.onmessage = ({ data }) => {
      console.log(isSecond ? 'restarted' : 'went on', data);
      process.exit();
    };`;
  const env = { PATH: Bun.env.PATH, HOME: Bun.env.HOME };
  return Bun.spawnSync([process.execPath, '-e', code], { env }).stdout.toString();
}

test('a program starts again with the options of the engine', () => {
  expect(restarted('')).toBe('restarted a thread\n');
});

test('a program that the system cannot start again goes on without them', () => {
  expect(restarted("process.execPath = '/dev/null';")).toBe('went on a thread\n');
});

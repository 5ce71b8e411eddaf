import { expect, spyOn, test } from 'bun:test';
import { buildProgram } from '../../src/cli/program.ts';

const terminal = {
  write: () => undefined,
  writeError: () => undefined,
  isInteractive: false,
  width: 80,
  hasColor: false,
  errorHasColor: false,
  hasSymbols: true,
};

test.each([
  [['serve', '--demo'], 1],
  [['post', 'import'], 0],
  [['--json', 'post', 'import'], 0],
  [['completion', 'bash'], 0],
  [[], 0],
])('the command %p delays the compiler %p times', async (words, times) => {
  using policy = spyOn(Bun.unsafe, 'setJITPolicy').mockReturnValue(undefined);
  await buildProgram({ environment: {}, terminal }, words);
  expect(policy).toHaveBeenCalledTimes(times);
});

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
  [['serve', '--demo'], 8],
  [['post', 'import'], 1],
  [['--json', 'post', 'import'], 1],
  [['completion', 'bash'], 1],
  [[], 1],
])('the command %p lets code run %p times as often before it is compiled', async (words, scale) => {
  using policy = spyOn(Bun.unsafe, 'setJITPolicy').mockReturnValue(undefined);
  await buildProgram({ environment: {}, terminal }, words);
  expect(policy.mock.calls).toEqual([[scale]]);
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A machine of its own for a process: its disk may be slow, and its clock may jump. See `odd-machine.c`. */
export function oddMachine(folder: string) {
  const state = join(folder, 'machine');
  const library = join(folder, 'odd-machine.so');
  const source = join(import.meta.dir, 'odd-machine.c');
  const { exitCode, stderr } = Bun.spawnSync(['cc', '-shared', '-fPIC', '-O1', '-o', library, source]);
  if (exitCode !== 0) throw new Error(stderr.toString());
  const values = new BigInt64Array(2);
  const save = () => writeFileSync(state, values, { flag: 'r+' });
  writeFileSync(state, values);
  return {
    environment: { LD_PRELOAD: library, ODD_MACHINE: state },
    /** Each sync takes so many milliseconds longer. */
    slowDown(ms: number): void {
      values[0] = BigInt(ms);
      save();
    },
    /** The clock is so many seconds ahead. */
    setClock(seconds: number): void {
      values[1] = BigInt(seconds);
      save();
    },
  };
}

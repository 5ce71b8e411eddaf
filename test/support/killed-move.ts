import { moveDatabase } from '../../src/server/move.ts';

// Moves a database, and kills its own process when a part of a step is done: killed-move.ts OPTIONS STEP PART

const [options = '', step, part] = Bun.argv.slice(2);

await moveDatabase({
  ...JSON.parse(options),
  report(progress) {
    const isThere = progress.step === step && progress.done >= Number(part) * progress.total;
    if (isThere) process.kill(process.pid, 'SIGKILL');
  },
});

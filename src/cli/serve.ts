import { once } from 'node:events';
import { join } from 'node:path';
import { createSetupLink } from '../people/links.ts';
import { warnOfModes } from '../server/data-folder.ts';
import { actorOf, openServices } from '../server/services.ts';
import { startServer } from '../server/start.ts';
import type { TidingsCommand } from './command.ts';

/** How long after a signal the process ends at the latest, in milliseconds. Stopping takes 8.5 seconds without trouble. */
const EXIT_MS = 9_500;

export function add(program: TidingsCommand): void {
  const { terminal } = program.context;
  program
    .sub('serve', 'Run the server')
    .settings()
    .option('--demo', 'Fill an empty database with a demo organization, and print commands to try')
    .option(
      '--new-database',
      'Start with an empty database, even if a key or backups of an earlier one exist',
    )
    .action(async ({ demo, newDatabase }, command: TidingsCommand) => {
      const config = command.config();
      const services = await openServices(config, 'server', { newDatabase });
      let exit: Timer | undefined;
      try {
        if (services.db.engine === 'sqlite') warnOfModes(config.dataDir, services.log);
        // The demo is made as a command: a first start should not open with the log of its parts.
        const actor = actorOf('command');
        const person = { ...services, actor, keys: services.keys.as({ actor }) };
        const demonstration = demo ? await import('../server/demo/service.ts') : null;
        const shown =
          demonstration && (await demonstration.openDemo(person, join(config.dataDir, 'demo.key')));
        const setup = await createSetupLink(services, { keepsEarlier: services.db.engine === 'postgres' });
        const stopped = Promise.race([
          once(process, 'SIGTERM'),
          once(process, 'SIGINT'),
          ...(services.failed === undefined ? [] : [services.failed]),
        ]);
        const server = await startServer(services, config);
        terminal.write(`Listening on ${server.url}\n`);
        if (demonstration !== null && shown !== null) {
          const { describeDemo, describeDemoDelivery, sendDemoDelivery } = demonstration;
          terminal.write(describeDemo(shown, server.publicUrl));
          const delivery = await sendDemoDelivery(services, shown, server.url);
          terminal.write(describeDemoDelivery(delivery, server.publicUrl));
        }
        // Last, so that nothing scrolls it away.
        if (setup !== null) terminal.write(`\nSet up the dashboard: ${server.publicUrl}${setup}\n`);
        const reason = await stopped;
        if (Array.isArray(reason)) services.log.info({ signal: reason[0] }, 'stopping');
        // A database that does not answer can hold up each step. All that was acknowledged is on the disk.
        exit = setTimeout(() => {
          services.log.warn('stopped without waiting for the database');
          process.exit(Array.isArray(reason) ? 0 : 1);
        }, EXIT_MS);
        await server.stop();
      } finally {
        await services.close().finally(() => clearTimeout(exit));
      }
    })
    .examples('serve', 'serve --demo', 'serve --port 8080 --public-url https://tidings.example.com');
}

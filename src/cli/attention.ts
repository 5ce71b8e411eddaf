import { getOrganization } from '../people/organization-store.ts';
import { listNow } from '../server/attention.ts';
import { ofOrganization, type TidingsCommand, WorkFailed } from './command.ts';
import { check, lines } from './output.ts';

export function add(program: TidingsCommand): void {
  const command = program.sub('attention', 'List what needs a person. Exits with 1 if anything does.');
  command
    .addOption(ofOrganization)
    .action(async ({ organization }: { organization?: string }) => {
      const config = command.folderConfig();
      const items = await command.withServices(async (services) => {
        const { db, clock, elapsed } = services;
        await db.read(async (tx) => {
          if (organization !== undefined) await getOrganization(tx, organization);
          await elapsed.load(tx);
        });
        const all = await listNow({ db, clock, elapsed }, config);
        return organization === undefined ? all : all.filter((item) => item.organizationId === organization);
      });
      command.print(
        items.map(({ path: _, ...item }) => item),
        () =>
          items.length === 0
            ? 'Nothing needs you.'
            : lines(
                items.map(({ message, since, effect, action, mutedUntil }) => {
                  const muted = mutedUntil === null ? '' : ` Muted until ${mutedUntil}.`;
                  return check('failed', `${message}, since ${since}. ${effect}${muted}`, action);
                }),
              ),
      );
      if (items.length > 0) throw new WorkFailed();
    })
    .note('Looks at the database and this machine, whether the server runs or not, and asks no provider.')
    .examples('attention', 'attention --organization acme --json');
}

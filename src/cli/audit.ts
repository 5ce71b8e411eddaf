import { type Command, Option } from 'commander';
import { type AuditAction, type AuditEvent, auditActions, describeActor } from '../audit/model.ts';
import { listAuditEvents } from '../audit/store.ts';
import { getOrganization } from '../organizations/store.ts';
import { type CliContext, sinceWhen, timeOrSpan, whole, withServices } from './context.ts';
import { oneLine, print, table } from './output.ts';

interface ListOptions {
  organization?: string;
  action?: AuditAction;
  since?: string;
  limit: number;
}

export function addAuditCommands(program: Command, context: CliContext): void {
  program
    .command('audit')
    .description('read the audit log: who changed what, and from where')
    .command('list')
    .description('list audit events, newest first')
    .option('--organization <id>', 'only of this organization (default: all, and events of accounts)')
    .addOption(new Option('--action <action>', 'only this action').choices(auditActions))
    .option('--since <time>', 'only since then: ISO 8601, or back from now as in 90m, 24h, 30d', timeOrSpan)
    .option('--limit <number>', 'how many events, 1 to 1000', whole(1, 1000), 50)
    .action(async ({ organization, action, since, limit }: ListOptions, command: Command) => {
      const events = await withServices(context, command, ({ db, clock }) => {
        const filter = {
          actions: action === undefined ? undefined : [action],
          since: since === undefined ? undefined : sinceWhen(since, clock.now()),
        };
        return db.read(async (tx) => {
          if (organization !== undefined) await getOrganization(tx, organization);
          return listAuditEvents(tx, organization, filter, limit);
        });
      });
      print(context.terminal, command, events, (all) =>
        all.length === 0
          ? 'No events found.'
          : table(['TIME', 'EVENT', 'ADDRESS', 'ORGANIZATION'], all.map(row)),
      );
    });
}

function row({ createdAt, actor, action, summary, count, address, organizationId }: AuditEvent): string[] {
  const times = action === 'sign_in.refused' && count > 1 ? ` (${count} times)` : '';
  return [
    createdAt.slice(0, 19).replace('T', ' '),
    oneLine(`${describeActor(actor)} ${summary}${times}`, 90),
    address ?? '–',
    organizationId ?? '–',
  ];
}

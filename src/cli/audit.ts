import { type Command, Option } from 'commander';
import { type AuditAction, type AuditEvent, auditActions, describeActor } from '../audit/model.ts';
import { listAuditEvents } from '../audit/store.ts';
import { getOrganization } from '../organizations/store.ts';
import { answering, clockTime, limitTo, sinceThen } from './command.ts';
import { type CliContext, sinceWhen } from './context.ts';
import { oneLine, table } from './output.ts';

interface ListOptions {
  organization?: string;
  action?: AuditAction;
  since?: string;
  limit: number;
}

export function addAuditCommands(program: Command, context: CliContext): void {
  const answer = answering(context);
  program
    .command('audit')
    .description('read the audit log: who changed what, and from where')
    .command('list')
    .description('list audit events, newest first')
    .option('--organization <id>', 'only of this organization (default: all, and events of accounts)')
    .addOption(new Option('--action <action>', 'only this action').choices(auditActions))
    .addOption(sinceThen)
    .addOption(limitTo('how many events'))
    .action(
      answer(
        ({ db, clock }, { organization, action, since, limit }: ListOptions) =>
          db.read(async (tx) => {
            if (organization !== undefined) await getOrganization(tx, organization);
            const filter = {
              actions: action && [action],
              since: since === undefined ? undefined : sinceWhen(since, clock.now()),
            };
            return listAuditEvents(tx, organization, filter, limit);
          }),
        (events) =>
          events.length === 0
            ? 'No events found.'
            : table(['TIME', 'EVENT', 'ADDRESS', 'ORGANIZATION'], events.map(row)),
      ),
    );
}

function row({ createdAt, actor, action, summary, count, address, organizationId }: AuditEvent): string[] {
  const times = action === 'sign_in.refused' && count > 1 ? ` (${count} times)` : '';
  const event = oneLine(`${describeActor(actor)} ${summary}${times}`, 90);
  return [clockTime(createdAt), event, address ?? '–', organizationId ?? '–'];
}

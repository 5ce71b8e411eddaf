import { Option } from 'commander';
import {
  type AuditAction,
  type AuditEvent,
  auditActions,
  describeActor,
  listAuditEvents,
} from '../people/audit.ts';
import { getOrganization, isDeleted } from '../people/organization-store.ts';
import { clockTime, limitTo, ofOrganization, sinceThen, sinceWhen, type TidingsCommand } from './command.ts';
import { table } from './output.ts';

interface ListOptions {
  organization?: string;
  action?: AuditAction;
  since?: string;
  limit: number;
}

export function add(program: TidingsCommand): void {
  const group = program
    .sub('audit', 'Show who changed what, when and from where')
    .examples('audit list --since 24h');

  group
    .sub('list', 'List audit events, newest first')
    .addOption(ofOrganization)
    .addOption(new Option('--action <action>', 'Only this action').choices(auditActions))
    .addOption(sinceThen)
    .addOption(limitTo('Number of events'))
    .answers(
      ({ db, clock }, { organization, action, since, limit }: ListOptions) =>
        db.read(async (tx) => {
          // The log of one in the trash says who deleted it.
          if (organization !== undefined && !(await isDeleted(tx, organization)))
            await getOrganization(tx, organization);
          const filter = {
            actions: action && [action],
            since: since === undefined ? undefined : sinceWhen(since, clock.now()),
          };
          return listAuditEvents(tx, organization, filter, limit);
        }),
      (events) =>
        events.length === 0
          ? 'No events found.'
          : table(['TIME', 'EVENT', 'ADDRESS', 'ORGANIZATION'], events.map(row), ['EVENT'], 32),
    )
    .examples('audit list --since 24h', 'audit list --organization acme --action key.revoked --json');
}

function row({ createdAt, actor, action, summary, count, address, organizationId }: AuditEvent): string[] {
  const times = action === 'sign_in.refused' && count > 1 ? ` (${count} times)` : '';
  const event = `${describeActor(actor)} ${summary}${times}`;
  return [clockTime(createdAt), event, address ?? '–', organizationId ?? '–'];
}

import type { Command } from 'commander';
import { type ApiKey, type CreatedKey, READ_PERMISSION } from '../keys/model.ts';
import { describeKeyWarning } from '../keys/words.ts';
import { tidings } from '../lib/build.ts';
import { getOrganization } from '../organizations/store.ts';
import { type CliContext, withServices } from './context.ts';
import { fields, oneLine, print, table } from './output.ts';

interface CreateOptions {
  organization: string;
  name: string;
  permission?: string[];
  expires?: string;
}

export function addKeyCommands(program: Command, context: CliContext): void {
  const group = program.command('key').description('make, list, revoke and delete API keys');

  group
    .command('create')
    .description('make an API key; its value is shown this once')
    .requiredOption('--organization <id>', 'the organization that it reads for')
    .requiredOption('--name <name>', 'what it is for, such as "Website, production"')
    .option('--permission <permission>', 'what it may do; repeatable', (each, all: string[] = []) => [
      ...all,
      each,
    ])
    .option('--expires <time>', 'when it stops working, as ISO 8601 (default: never)')
    .addHelpText(
      'after',
      `\nWithout --permission the key has ${READ_PERMISSION}, which every read of the API needs.`,
    )
    .action(async ({ organization, name, permission, expires }: CreateOptions, command: Command) => {
      const { warning, ...created } = await withServices(context, command, ({ keys }) =>
        keys.createKey({
          organizationId: organization,
          name,
          permissions: [...new Set(permission ?? [READ_PERMISSION])],
          expiresAt: expires ?? null,
        }),
      );
      print(context.terminal, command, created, describeCreated);
      if (warning !== undefined) context.terminal.writeError(`warning: ${describeKeyWarning(warning)}\n`);
    });

  group
    .command('list')
    .description('list the keys of an organization, newest first')
    .requiredOption('--organization <id>', 'the organization')
    .action(async ({ organization }: { organization: string }, command: Command) => {
      const listed = await withServices(context, command, async ({ db, keys }) => {
        await db.read((tx) => getOrganization(tx, organization));
        return keys.listKeys(organization);
      });
      print(context.terminal, command, listed, (all) =>
        all.length === 0
          ? `No key yet. Make one: ${tidings} key create --organization ${organization} --name "Website"`
          : table(['ID', 'NAME', 'KEY', 'STATUS', 'CREATED', 'LAST USED', 'EXPIRES'], all.map(row)),
      );
    });

  group
    .command('revoke')
    .description('revoke a key, and keep it in the list')
    .argument('<id>', 'the id of the key, not its value')
    .action(async (id: string, _options: object, command: Command) => {
      const { key, revocationDelay } = await withServices(context, command, async ({ keys }) => ({
        key: await keys.revokeKey(id),
        revocationDelay: keys.revocationDelay,
      }));
      print(
        context.terminal,
        command,
        key,
        ({ name }) => `Revoked: ${oneLine(name)} (${id})\n${revocationDelay}`,
      );
    });

  group
    .command('delete')
    .description('delete a key: revoke it, and remove it from the list')
    .argument('<id>', 'the id of the key, not its value')
    .action(async (id: string, _options: object, command: Command) => {
      const revocationDelay = await withServices(context, command, async ({ keys }) => {
        await keys.deleteKey(id);
        return keys.revocationDelay;
      });
      print(context.terminal, command, { id, deleted: true }, () => `Deleted: ${id}\n${revocationDelay}`);
    });
}

function describeCreated(created: CreatedKey): string {
  const description = fields({
    Key: created.key,
    ID: created.id,
    Name: oneLine(created.name),
    Organization: created.organizationId,
    Permissions: created.permissions.join(', '),
    Expires: created.expiresAt ?? 'never',
  });
  return `${description}\n\nCopy the key now: it is shown this once, and only a fingerprint is kept.`;
}

function row(key: ApiKey): string[] {
  return [
    key.id,
    oneLine(key.name, 32),
    `${key.prefix}…`,
    key.status,
    key.createdAt.slice(0, 10),
    minute(key.lastUsedAt),
    minute(key.expiresAt),
  ];
}

function minute(time: string | null): string {
  return time === null ? 'never' : `${time.slice(0, 16).replace('T', ' ')} UTC`;
}

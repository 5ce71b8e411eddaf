import type { Command } from 'commander';
import { READ_PERMISSION } from '../keys/model.ts';
import { describeKeyWarning, describeRevocation } from '../keys/words.ts';
import { tidings } from '../lib/build.ts';
import { getOrganization } from '../organizations/store.ts';
import { answering } from './command.ts';
import { type CliContext, withServices } from './context.ts';
import { fields, oneLine, print, table } from './output.ts';

interface CreateOptions {
  organization: string;
  name: string;
  permission?: string[];
  expires?: string;
}

export function addKeyCommands(program: Command, context: CliContext): void {
  const answer = answering(context);
  const group = program.command('key').description('create, list, revoke and delete API keys');

  group
    .command('create')
    .description('create an API key and show its value once')
    .requiredOption('--organization <id>', 'the organization whose posts it reads')
    .requiredOption('--name <name>', 'its purpose, such as "Website, production"')
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
      const description = fields({
        Key: created.key,
        ID: created.id,
        Name: oneLine(name),
        Organization: organization,
        Permissions: created.permissions.join(', '),
        Expires: created.expiresAt ?? 'never',
      });
      const advice = 'Copy the key now. It is shown only once: Tidings keeps a fingerprint of it.';
      print(context.terminal, command, created, () => `${description}\n\n${advice}`);
      if (warning !== undefined) context.terminal.writeError(`warning: ${describeKeyWarning(warning)}\n`);
    });

  group
    .command('list')
    .description('list the keys of an organization, newest first')
    .requiredOption('--organization <id>', 'the organization')
    .action(
      answer(
        async ({ db, keys }, { organization }: { organization: string }) => {
          await db.read((tx) => getOrganization(tx, organization));
          return keys.listKeys(organization);
        },
        (all, { organization }) =>
          all.length === 0
            ? `No keys yet. Create one: ${tidings} key create --organization ${organization} --name "Website"`
            : table(
                ['ID', 'NAME', 'KEY', 'STATUS', 'CREATED', 'LAST USED', 'EXPIRES'],
                all.map(({ id, name, prefix, status, createdAt, lastUsedAt, expiresAt }) => [
                  ...[id, oneLine(name, 32), `${prefix}…`, status, createdAt.slice(0, 10)],
                  ...[minute(lastUsedAt), minute(expiresAt)],
                ]),
              ),
      ),
    );

  group
    .command('revoke')
    .description('revoke a key, and keep it in the list')
    .argument('<id>', 'the id of the key, not its value')
    .action(
      answer(
        async ({ keys }, id: string) => ({ key: await keys.revokeKey(id), delay: describeRevocation(keys) }),
        ({ key, delay }, id) => `Revoked: ${oneLine(key.name)} (${id})\n${delay}`,
        ({ key }) => key,
      ),
    );

  group
    .command('delete')
    .description('delete a key: revoke it, and remove it from the list')
    .argument('<id>', 'the id of the key, not its value')
    .action(
      answer(
        async ({ keys }, id: string) => {
          await keys.deleteKey(id);
          return { id, delay: describeRevocation(keys) };
        },
        ({ id, delay }) => `Deleted: ${id}\n${delay}`,
        ({ id }) => ({ id, deleted: true }),
      ),
    );
}

const minute = (time: string | null) =>
  time === null ? 'never' : `${time.slice(0, 16).replace('T', ' ')} UTC`;

import { InvalidArgumentError } from 'commander';
import { tidings } from '../lib/build.ts';
import {
  describeKeyWarning,
  describeRevocation,
  READ_PERMISSION,
  SUGGEST_PERMISSION,
} from '../people/keys/store.ts';
import { getOrganization } from '../people/organization-store.ts';
import { clockTime, isoTime, type TidingsCommand } from './command.ts';
import { complain, fields, oneLine, status, table } from './output.ts';

interface CreateOptions {
  organization: string;
  name: string;
  permission?: string[];
  expires?: string;
}

export function add(program: TidingsCommand): void {
  const group = program.sub('key', 'Create, list, revoke and delete API keys');
  const command = group.about('key, not its value');
  const { terminal } = program.context;
  group.examples('key create --organization acme --name "Website"', 'key list --organization acme');

  group
    .sub('create', 'Create an API key and show its value once')
    .requiredOption('--organization <id>', 'Organization whose posts the key reads')
    .requiredOption('--name <name>', 'Purpose of the key, such as "Website, production"')
    .option('--permission <permission>', 'Permission of the key; repeatable', (each, all: string[] = []) => {
      if (each === READ_PERMISSION || each === SUGGEST_PERMISSION) return [...all, each];
      throw new InvalidArgumentError(`It must be ${READ_PERMISSION} or ${SUGGEST_PERMISSION}.`);
    })
    .option('--expires <time>', 'When the key expires, as ISO 8601 (default: never)', isoTime)
    .answers(
      async ({ keys }, { organization, name, permission, expires }: CreateOptions) => {
        const { warning, ...created } = await keys.createKey({
          organizationId: organization,
          name,
          permissions: [...new Set(permission ?? [READ_PERMISSION])],
          expiresAt: expires ?? null,
        });
        if (warning !== undefined) complain(terminal, 'warning', describeKeyWarning(warning));
        return created;
      },
      ({ id, key, permissions, expiresAt }, { organization, name }) => [
        fields({
          Key: key,
          ID: id,
          Name: name,
          Organization: organization,
          Permissions: permissions.join(', '),
          Expires: expiresAt ?? 'never',
        }),
        'Copy the key now. Tidings shows it only once.',
      ],
    )
    .note(
      `Without --permission, the key has ${READ_PERMISSION}, which every API request needs. A key that also has ${SUGGEST_PERMISSION} lets an agent suggest changes of posts over MCP.`,
    )
    .examples(
      'key create --organization acme --name "Website, production"',
      'key create --organization acme --name "Preview" --expires 2027-06-30',
      `key create --organization acme --name "Docs agent" --permission ${READ_PERMISSION} --permission ${SUGGEST_PERMISSION}`,
    );

  group
    .sub('list', 'List the keys of an organization, newest first')
    .requiredOption('--organization <id>', 'Organization')
    .answers(
      async ({ db, keys }, { organization }: { organization: string }) => {
        await db.read((tx) => getOrganization(tx, organization));
        return keys.listKeys(organization);
      },
      (all, { organization }) =>
        all.length === 0
          ? `No keys yet. Create one: ${tidings} key create --organization ${organization} --name "Website"`
          : table(
              ['ID', 'NAME', 'KEY', 'STATUS', 'CREATED', 'LAST USED', 'EXPIRES'],
              all.map((key) => [
                ...[key.id, key.name, `${key.prefix}…`, status(key.status), key.createdAt.slice(0, 10)],
                ...[minute(key.lastUsedAt), minute(key.expiresAt)],
              ]),
              ['NAME'],
            ),
    )
    .examples('key list --organization acme');

  command('revoke', 'Revoke a key and keep it in the list')
    .answers(
      async ({ keys }, id: string) => ({ key: await keys.revokeKey(id), delay: describeRevocation(keys) }),
      ({ key, delay }, id) => `Revoked: ${oneLine(key.name)} (${id})\n${delay}`,
      ({ key }) => key,
    )
    .examples('key revoke key_…');

  command('delete', 'Revoke a key and remove it from the list')
    .answers(
      async ({ keys }, id: string) => {
        await keys.deleteKey(id);
        return { id, delay: describeRevocation(keys) };
      },
      ({ id, delay }) => `Deleted: ${id}\n${delay}`,
      ({ id }) => ({ id, deleted: true }),
    )
    .examples('key delete key_…');
}

const minute = (time: string | null) => (time === null ? 'never' : clockTime(time));

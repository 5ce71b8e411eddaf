import { Option } from 'commander';
import {
  type PublicAddresses,
  type Publication,
  type PublicationChange,
  publicAddresses,
} from '../readers/public/model.ts';
import { changePublication, readPublication } from '../readers/public/service.ts';
import type { Services } from '../server/services.ts';
import type { TidingsCommand } from './command.ts';
import { fields, lines, painted, status } from './output.ts';

// Commands for the public page of an organization, its feeds and the endpoint for agents.

type Shown = Omit<Publication, 'version'> & { addresses: PublicAddresses };

type Switch = 'on' | 'off';

interface SetFlags {
  organization: string;
  slug?: string;
  on?: true;
  off?: true;
  feeds?: Switch;
  agents?: Switch;
  title?: string;
  description?: string;
  accentColor?: string;
  address?: string;
}

export function add(program: TidingsCommand): void {
  const group = program
    .sub('page', 'Show and change what everybody can read')
    .examples('page show --organization acme', 'page set --organization acme --on --feeds on');

  group
    .sub('show', 'Show the settings and addresses of the public page, feeds and agents')
    .requiredOption('--organization <id>', 'Organization')
    .answers(
      async (services, { organization }: { organization: string }) =>
        withAddresses(services, await services.db.read((tx) => readPublication(tx, organization))),
      describe,
    )
    .examples('page show --organization acme', 'page show --organization acme --json');

  const onOrOff = (flag: string, description: string) =>
    new Option(`--${flag} <state>`, description).choices(['on', 'off']);
  group
    .sub('set', 'Change the public page. Other settings stay as they are')
    .requiredOption('--organization <id>', 'Organization')
    .option('--slug <slug>', 'End of the address /changelog/<slug>')
    .addOption(new Option('--on', 'Everybody can read the page'))
    .addOption(new Option('--off', 'Nobody can read the page').conflicts('on'))
    .addOption(onOrOff('feeds', 'Feeds and the widget'))
    .addOption(onOrOff('agents', 'Endpoint for agents (MCP)'))
    .option('--title <text>', 'Title of the page')
    .option('--description <text>', 'One or two sentences below the title')
    .option('--accent-color <color>', 'Color of links and buttons, such as #2563eb')
    .option('--address <url>', 'Custom domain: URL where your proxy serves the page, or none')
    .answers(async (services, flags: SetFlags, given: TidingsCommand) => {
      const change = changeOf(flags);
      if (Object.keys(change).length === 0) {
        given.error('error: nothing to change. Add an option, such as --on or --title TEXT');
      }
      return withAddresses(services, await changePublication(services, flags.organization, change));
    }, describe)
    .examples(
      'page set --organization acme --slug acme --title "Acme changelog" --on',
      'page set --organization acme --feeds on --agents on',
      'page set --organization acme --address https://changelog.example.com',
      'page set --organization acme --off',
    );
}

function changeOf({ slug, on, off, feeds, agents, title, description, accentColor, address }: SetFlags) {
  const change: PublicationChange = {};
  if (slug !== undefined) change.slug = slug;
  if (on || off) change.isPageOn = on === true;
  if (feeds !== undefined) change.isFeedOn = feeds === 'on';
  if (agents !== undefined) change.isMcpOn = agents === 'on';
  if (title !== undefined) change.title = title;
  if (description !== undefined) change.description = description;
  if (accentColor !== undefined) change.accentColor = accentColor.toLowerCase();
  if (address !== undefined) change.address = address === 'none' ? null : address;
  return change;
}

function withAddresses(services: Services, { version: _, ...publication }: Publication): Shown {
  return { ...publication, addresses: publicAddresses(publication, services.publicUrl()) };
}

function describe({ addresses, ...shown }: Shown) {
  const { page, feeds, widget, mcp } = addresses;
  const off = status('disabled', 'off');
  return [
    fields({
      Organization: shown.organizationId,
      Title: shown.title,
      Description: shown.description || null,
      Slug: shown.slug,
      'Accent color': shown.accentColor,
      'Footer links': shown.links.map(({ label }) => label).join(', ') || null,
      'Custom domain': shown.address,
      'Public page': page ?? off,
      Feeds: feeds?.atom ?? off,
      Agents: mcp ?? off,
    }),
    feeds === null || widget === null
      ? ''
      : lines([
          painted('Other feeds and the widget:', 'quiet'),
          feeds.rss,
          feeds.json,
          widget,
          ...(page === null
            ? [painted('The public page is off. Change href to your own changelog.', 'quiet')]
            : []),
        ]),
  ];
}

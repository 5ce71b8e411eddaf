import { type Command, Option } from 'commander';
import { builtInTemplates } from '../drafts/built-in.ts';
import { getIntegration } from '../integrations/store.ts';
import { AppError } from '../lib/app-error.ts';
import { tidings } from '../lib/build.ts';
import type { Services } from '../main.ts';
import { getOrganization } from '../organizations/store.ts';
import { type ContentType, contentTypes } from '../posts/model.ts';
import { providers } from '../providers/index.ts';
import { MAX_LAST, type Trigger, type TriggerFilters } from '../triggers/model.ts';
import { countRequests } from '../triggers/queue-store.ts';
import { changeTrigger, createTrigger, deleteTrigger, switchTrigger } from '../triggers/service.ts';
import { getTrigger, listTriggers } from '../triggers/store.ts';
import { describeFilters } from '../triggers/words.ts';
import { type CliContext, whole, withServices } from './context.ts';
import { repositoryNames } from './integration.ts';
import { fields, print, table } from './output.ts';
import { addRunCommands } from './trigger-runs.ts';

/** The flags of filters and templates. `false` comes from `--no-…`, which removes one. */
interface RuleFlags {
  branch?: string[] | false;
  label?: string[] | false;
  tag?: string[] | false;
  prereleases?: 'yes' | 'no';
  team?: string[] | false;
  project?: string[] | false;
  title?: string | false;
  template?: string | false;
}

interface CreateFlags extends RuleFlags {
  integration: string;
  repository?: string;
  event: string;
  action?: string;
  contentType: ContentType;
  publish?: true;
  disabled?: true;
  last?: number;
}

interface ChangeFlags extends RuleFlags {
  contentType?: ContentType;
  publish?: boolean;
}

export function addTriggerCommands(program: Command, context: CliContext): void {
  const group = program.command('trigger').description('choose which events become posts, and how they read');

  ruleOptions(
    group
      .command('create')
      .description('make a post of each event of a kind')
      .requiredOption('--integration <id>', 'the integration')
      .option('--repository <owner/name>', 'only this repository of it')
      .requiredOption(
        '--event <event>',
        providers
          .map(({ name, triggerEvents }) => `${Object.keys(triggerEvents).join(', ')} of ${name}`)
          .join('; '),
      )
      .option('--action <action>', 'what the event came to (default: the one that posts are made of)')
      .addOption(contentTypeOption().default('changelog')),
    false,
  )
    .option('--publish', 'publish its posts at once (default: they wait as drafts)')
    .option('--disabled', 'do not start yet')
    .option(
      '--last <number>',
      `also make drafts of this many past releases, up to ${MAX_LAST}; they are drafts even with --publish`,
      whole(1, MAX_LAST),
    )
    .action(async (flags: CreateFlags, command: Command) => {
      const templates = await templatesOf(flags);
      const made = await withServices(context, command, async (services) => {
        const trigger = await createTrigger(services, {
          integrationId: flags.integration,
          repository: flags.repository,
          event: flags.event,
          action: flags.action,
          filters: filtersOf(flags),
          contentType: flags.contentType,
          publish: flags.publish ?? false,
          enabled: !flags.disabled,
          last: flags.last,
          ...templates,
        });
        const requested = await services.db.read((tx) => countRequests(tx, trigger.id));
        return { trigger, requested, names: await repositoryNames(services) };
      });
      print(context.terminal, command, made.trigger, (trigger) =>
        flags.last === undefined
          ? describe(trigger, made.names)
          : `${describe(trigger, made.names)}\n\n${describeLast(made.requested, trigger.enabled)}`,
      );
    });

  ruleOptions(
    group
      .command('change')
      .description('change what a trigger lets through and how its posts read')
      .argument('<id>', 'the trigger')
      .addOption(contentTypeOption()),
    true,
  )
    .option('--publish', 'publish its posts at once')
    .option('--no-publish', 'let its posts wait as drafts')
    .action(async (id: string, flags: ChangeFlags, command: Command) => {
      if (Object.keys(flags).length === 0) {
        command.error('error: Name a change: a filter, a template, --content-type or --publish');
      }
      const templates = await templatesOf(flags);
      const changed = await withNames(context, command, async (services) => {
        const { filters } = await services.db.read((tx) => getTrigger(tx, id));
        return changeTrigger(services, id, {
          filters: filtersOf(flags, filters),
          ...(flags.contentType === undefined ? {} : { contentType: flags.contentType }),
          ...(flags.publish === undefined ? {} : { publish: flags.publish }),
          ...templates,
        });
      });
      print(context.terminal, command, changed.trigger, (trigger) => describe(trigger, changed.names));
    });

  group
    .command('list')
    .description('list the triggers, oldest first')
    .option('--organization <id>', 'only of this organization')
    .option('--integration <id>', 'only of this integration')
    .action(async (options: { organization?: string; integration?: string }, command: Command) => {
      const triggers = await withServices(context, command, async (services) => {
        if (options.organization !== undefined) await getOrganization(services.db, options.organization);
        if (options.integration !== undefined) await getIntegration(services.db, options.integration);
        return services.db.read((tx) =>
          listTriggers(tx, { organizationId: options.organization, integrationId: options.integration }),
        );
      });
      print(context.terminal, command, triggers, (all) =>
        all.length === 0
          ? `No triggers yet. Make one: ${tidings} trigger create --integration ID --event release --content-type changelog`
          : table(['ID', 'EVENT', 'MAKES', 'FILTERS', 'STATUS', 'INTEGRATION'], all.map(row)),
      );
    });

  group
    .command('show')
    .description('show a trigger, with the templates that it uses')
    .argument('<id>', 'the trigger')
    .action(async (id: string, _options: object, command: Command) => {
      const found = await withNames(context, command, ({ db }) => db.read((tx) => getTrigger(tx, id)));
      print(context.terminal, command, found.trigger, (trigger) => describeWhole(trigger, found.names));
    });

  for (const [name, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    group
      .command(name)
      .description(
        enabled
          ? 'start again; "delivery replay" brings in what came meanwhile'
          : 'make no posts until it is enabled',
      )
      .argument('<id>', 'the trigger')
      .action(async (id: string, _options: object, command: Command) => {
        const trigger = await withServices(context, command, (services) =>
          switchTrigger(services, id, enabled),
        );
        print(context.terminal, command, trigger, () => `${enabled ? 'Enabled' : 'Disabled'}: ${id}`);
      });
  }

  group
    .command('delete')
    .description('delete a trigger for good; its posts stay')
    .argument('<id>', 'the trigger')
    .action(async (id: string, _options: object, command: Command) => {
      await withServices(context, command, (services) => deleteTrigger(services, id));
      print(context.terminal, command, { id, deleted: true }, () => `Deleted: ${id}`);
    });

  addRunCommands(group, context);
}

/** A trigger with the names of all repositories. */
function withNames(context: CliContext, command: Command, work: (services: Services) => Promise<Trigger>) {
  return withServices(context, command, async (services) => ({
    trigger: await work(services),
    names: await repositoryNames(services),
  }));
}

const filterHelp = {
  branch: [
    '<pattern...>',
    'only these branches; * stands for anything (default: the default branch; of releases, every branch)',
  ],
  label: ['<name...>', 'only with one of these labels'],
  tag: ['<pattern...>', 'only releases with such tags; * stands for anything'],
  team: ['<name...>', "only of these teams: a team's key, name or id"],
  project: ['<name...>', "only of these projects: a project's name or id"],
} as const;

/** `canRemove`: with the options that remove filters and templates. */
function ruleOptions(command: Command, canRemove: boolean): Command {
  for (const [name, [argument, help]] of Object.entries(filterHelp)) {
    command.option(`--${name} ${argument}`, help);
    if (canRemove) command.option(`--no-${name}`, `without the filter ${name}`);
  }
  command
    .addOption(
      new Option('--prereleases <yes|no>', 'whether pre-releases count (default: yes)').choices([
        'yes',
        'no',
      ]),
    )
    .option('--title <liquid>', 'the template of the title (default: the built-in one)')
    .option('--template <file>', 'the file that holds the template of the body (default: the built-in one)');
  if (canRemove) {
    command.option('--no-title', 'the built-in title').option('--no-template', 'the built-in body');
  }
  return command;
}

/** The given filters over the current ones. */
function filtersOf(flags: RuleFlags, current: TriggerFilters = {}): TriggerFilters {
  const filters: Record<string, unknown> = { ...current };
  for (const name of Object.keys(filterHelp) as (keyof typeof filterHelp)[]) {
    if (flags[name] === false) delete filters[name];
    else if (flags[name] !== undefined) filters[name] = flags[name];
  }
  if (flags.prereleases === 'no') filters.prereleases = false;
  if (flags.prereleases === 'yes') delete filters.prereleases;
  return filters as TriggerFilters;
}

/** The given templates; absent ones stay as they are. */
async function templatesOf({
  title,
  template,
}: RuleFlags): Promise<Partial<Pick<Trigger, 'titleTemplate' | 'bodyTemplate'>>> {
  return {
    ...(title === undefined ? {} : { titleTemplate: title === false ? null : title }),
    ...(template === undefined
      ? {}
      : { bodyTemplate: template === false ? null : await readTemplate(template) }),
  };
}

async function readTemplate(path: string): Promise<string> {
  const file = Bun.file(path);
  if (!(await file.exists())) throw new AppError(400, `${path}: no such file`);
  return file.text();
}

function contentTypeOption(): Option {
  return new Option('--content-type <type>', 'what to make').choices(contentTypes);
}

function row(trigger: Trigger): string[] {
  const { id, event, action, contentType, publish, filters, enabled, integrationId } = trigger;
  return [
    id,
    `${event} ${action}`,
    publish ? `${contentType}, published` : contentType,
    describeFilters(filters),
    enabled ? 'enabled' : 'disabled',
    integrationId,
  ];
}

function describe(trigger: Trigger, names: ReadonlyMap<string, string>): string {
  const { id, event, action, contentType, publish, filters, enabled, repositoryId } = trigger;
  return fields({
    Trigger: id,
    Event: `${event} ${action}`,
    Makes: `a ${contentType}, ${publish ? 'published at once' : 'as a draft'}`,
    Filters: describeFilters(filters),
    Templates: [
      `title ${trigger.titleTemplate === null ? 'built in' : 'your own'}`,
      `body ${trigger.bodyTemplate === null ? 'built in' : 'your own'}`,
    ].join(', '),
    Integration: `${trigger.integrationId} (${trigger.integrationType})`,
    ...(repositoryId === null ? {} : { Repository: names.get(repositoryId) ?? repositoryId }),
    Status: enabled ? 'enabled' : 'disabled',
  });
}

function describeLast(requested: number, enabled: boolean): string {
  if (requested === 0) return 'Past releases: none known that match the filters.';
  const drafts = requested === 1 ? '1 draft' : `${requested} drafts`;
  return `Past releases: ${drafts} queued${enabled ? '' : ' until the trigger is enabled'}.`;
}

function describeWhole(trigger: Trigger, names: ReadonlyMap<string, string>): string {
  const builtIn = builtInTemplates(trigger.event, trigger.contentType);
  const title = trigger.titleTemplate ?? builtIn.title;
  const body = trigger.bodyTemplate ?? builtIn.body;
  return `${describe(trigger, names)}\n\nTitle:\n${title}\n\nBody:\n${body}`;
}

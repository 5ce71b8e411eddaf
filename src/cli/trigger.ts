import { type Command, Option } from 'commander';
import { builtInTemplates } from '../drafts/built-in.ts';
import { getIntegration } from '../integrations/store.ts';
import { tidings } from '../lib/build.ts';
import type { Services } from '../main.ts';
import { getOrganization } from '../organizations/store.ts';
import { contentTypes } from '../posts/model.ts';
import { providers } from '../providers/index.ts';
import { MAX_LAST, type Trigger, type TriggerFilters } from '../triggers/model.ts';
import { countRequests } from '../triggers/queue-store.ts';
import {
  changeTrigger,
  createTrigger,
  deleteTrigger,
  type NewTrigger,
  switchTrigger,
  type TriggerChanges,
} from '../triggers/service.ts';
import { getTrigger, listTriggers } from '../triggers/store.ts';
import { describeFilters } from '../triggers/words.ts';
import { aboutOne, answering, done, ofIntegration, ofOrganization, readText } from './command.ts';
import { type CliContext, whole } from './context.ts';
import { repositoryNames } from './integration.ts';
import { fields, table } from './output.ts';
import { addRunCommands } from './trigger-runs.ts';

/** `false` comes from `--no-…`, which removes a filter or a template. */
interface RuleFlags extends Partial<Record<keyof typeof filterHelp, string[] | false>> {
  prereleases?: 'yes' | 'no';
  title?: string | false;
  template?: string | false;
  contentType?: NewTrigger['contentType'];
  publish?: boolean;
}

type CreateFlags = RuleFlags &
  Pick<NewTrigger, 'repository' | 'event' | 'action' | 'contentType' | 'last'> & {
    integration: string;
    disabled?: true;
  };

export function addTriggerCommands(program: Command, context: CliContext): void {
  const group = program.command('trigger').description('choose which events become posts, and how they read');
  const command = aboutOne(group, 'the trigger');
  const answer = answering(context);

  const create = group
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
    .addOption(contentTypeOption().default('changelog'));
  addRuleOptions(create, false)
    .option('--publish', 'publish its posts at once (default: they wait as drafts)')
    .option('--disabled', 'do not start yet')
    .option(
      '--last <number>',
      `also make drafts of this many past releases, up to ${MAX_LAST}; they are drafts even with --publish`,
      whole(1, MAX_LAST),
    )
    .action(
      answer(
        async (services, flags: CreateFlags) => {
          const { integration: integrationId, repository, event, action, contentType, last } = flags;
          const rule = { ...(await changesOf(flags)), contentType, enabled: !flags.disabled };
          const given = { ...rule, integrationId, repository, event, action, last };
          const made = await withNames(services, createTrigger(services, given));
          return { ...made, requested: await services.db.read((tx) => countRequests(tx, made.trigger.id)) };
        },
        ({ requested, ...made }, { last, disabled }) =>
          `${describe(made)}${last === undefined ? '' : describeLast(requested, disabled)}`,
        ({ trigger }) => trigger,
      ),
    );

  const change = command('change', 'change what a trigger lets through and how its posts read').addOption(
    contentTypeOption(),
  );
  addRuleOptions(change, true)
    .option('--publish', 'publish its posts at once')
    .option('--no-publish', 'let its posts wait as drafts')
    .hook('preAction', (given) => {
      if (Object.keys(given.opts()).length > 0) return;
      given.error('error: Name a change: a filter, a template, --content-type or --publish');
    })
    .action(
      answer(
        async (services, id: string, flags: RuleFlags) => {
          const { filters } = await services.db.read((tx) => getTrigger(tx, id));
          return withNames(services, changeTrigger(services, id, await changesOf(flags, filters)));
        },
        describe,
        ({ trigger }) => trigger,
      ),
    );

  group
    .command('list')
    .description('list the triggers, oldest first')
    .addOption(ofOrganization)
    .addOption(ofIntegration)
    .action(
      answer(
        ({ db }, { organization, integration }: { organization?: string; integration?: string }) =>
          db.read(async (tx) => {
            if (organization !== undefined) await getOrganization(tx, organization);
            if (integration !== undefined) await getIntegration(tx, integration);
            return listTriggers(tx, { organizationId: organization, integrationId: integration });
          }),
        (all) =>
          all.length === 0
            ? `No triggers yet. Make one: ${tidings} trigger create --integration ID --event release --content-type changelog`
            : table(['ID', 'EVENT', 'MAKES', 'FILTERS', 'STATUS', 'INTEGRATION'], all.map(row)),
      ),
    );

  command('show', 'show a trigger, with the templates that it uses').action(
    answer(
      (services, id: string) =>
        withNames(
          services,
          services.db.read((tx) => getTrigger(tx, id)),
        ),
      describeWhole,
      ({ trigger }) => trigger,
    ),
  );

  for (const [name, past, description] of [
    ['enable', 'Enabled', 'start again; "delivery replay" brings in what came meanwhile'],
    ['disable', 'Disabled', 'make no posts until it is enabled'],
  ] as const) {
    const switchOne = (services: Services, id: string) => switchTrigger(services, id, name === 'enable');
    command(name, description).action(answer(switchOne, ({ id }) => `${past}: ${id}`));
  }

  command('delete', 'delete a trigger for good; its posts stay').action(
    answer(done('deleted', deleteTrigger), ({ id }) => `Deleted: ${id}`),
  );

  addRunCommands(group, context);
}

interface NamedTrigger {
  trigger: Trigger;
  /** The names of all repositories, by id. */
  names: ReadonlyMap<string, string>;
}

async function withNames(services: Services, trigger: Promise<Trigger>): Promise<NamedTrigger> {
  return { trigger: await trigger, names: await repositoryNames(services) };
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
function addRuleOptions(command: Command, canRemove: boolean): Command {
  for (const [name, [argument, help]] of Object.entries(filterHelp)) {
    command.option(`--${name} ${argument}`, help);
    if (canRemove) command.option(`--no-${name}`, `without the filter ${name}`);
  }
  const yesOrNo = new Option('--prereleases <yes|no>', 'whether pre-releases count (default: yes)');
  command
    .addOption(yesOrNo.choices(['yes', 'no']))
    .option('--title <liquid>', 'the template of the title (default: the built-in one)')
    .option('--template <file>', 'the file that holds the template of the body (default: the built-in one)');
  if (canRemove) {
    command.option('--no-title', 'the built-in title').option('--no-template', 'the built-in body');
  }
  return command;
}

/** The part of the rule that the flags are about; given filters stand over the current ones. */
async function changesOf(flags: RuleFlags, current: TriggerFilters = {}): Promise<TriggerChanges> {
  const { contentType, publish, title, template, prereleases } = flags;
  const filters: Record<string, unknown> = { ...current };
  for (const name of Object.keys(filterHelp) as (keyof typeof filterHelp)[]) {
    if (flags[name] === false) delete filters[name];
    else if (flags[name] !== undefined) filters[name] = flags[name];
  }
  if (prereleases === 'no') filters.prereleases = false;
  if (prereleases === 'yes') delete filters.prereleases;
  return {
    filters,
    ...(contentType !== undefined && { contentType }),
    ...(publish !== undefined && { publish }),
    ...(title !== undefined && { titleTemplate: title === false ? null : title }),
    ...(template !== undefined && { bodyTemplate: template === false ? null : await readText(template) }),
  };
}

function contentTypeOption(): Option {
  return new Option('--content-type <type>', 'what to make').choices(contentTypes);
}

function row(trigger: Trigger): string[] {
  const { id, event, action, contentType, publish, filters, enabled, integrationId } = trigger;
  const posts = publish ? `${contentType}, published` : contentType;
  const status = enabled ? 'enabled' : 'disabled';
  return [id, `${event} ${action}`, posts, describeFilters(filters), status, integrationId];
}

function describe({ trigger, names }: NamedTrigger): string {
  const { id, event, action, contentType, publish, filters, enabled, repositoryId } = trigger;
  const origin = (template: string | null) => (template === null ? 'built in' : 'your own');
  return fields({
    Trigger: id,
    Event: `${event} ${action}`,
    Makes: `a ${contentType}, ${publish ? 'published at once' : 'as a draft'}`,
    Filters: describeFilters(filters),
    Templates: `title ${origin(trigger.titleTemplate)}, body ${origin(trigger.bodyTemplate)}`,
    Integration: `${trigger.integrationId} (${trigger.integrationType})`,
    ...(repositoryId !== null && { Repository: names.get(repositoryId) ?? repositoryId }),
    Status: enabled ? 'enabled' : 'disabled',
  });
}

function describeLast(requested: number, disabled = false): string {
  if (requested === 0) return '\n\nPast releases: none known that match the filters.';
  const drafts = requested === 1 ? '1 draft' : `${requested} drafts`;
  return `\n\nPast releases: ${drafts} queued${disabled ? ' until the trigger is enabled' : ''}.`;
}

function describeWhole(named: NamedTrigger): string {
  const { event, contentType, titleTemplate, bodyTemplate } = named.trigger;
  const builtIn = builtInTemplates(event, contentType);
  return `${describe(named)}\n\nTitle:\n${titleTemplate ?? builtIn.title}\n\nBody:\n${bodyTemplate ?? builtIn.body}`;
}

import { Option } from 'commander';
import type { ReadTx } from '../../db/engine.ts';
import { RELEASE_NOTE, SKIP_LABELS } from '../drafting/changes/rules.ts';
import { builtInTemplates } from '../drafting/starters.ts';
import {
  describeFilters,
  getTrigger,
  listTriggers,
  MAX_LAST,
  publishedWords,
  type Trigger,
  type TriggerFilters,
} from '../drafting/triggers/model.ts';
import { countRequests } from '../drafting/triggers/queue-store.ts';
import {
  changeTrigger,
  createTrigger,
  deleteTrigger,
  type NewTrigger,
  switchTrigger,
  type TriggerChanges,
} from '../drafting/triggers/service.ts';
import { getIntegration } from '../integrations/store.ts';
import { tidings } from '../lib/build.ts';
import { count } from '../lib/text.ts';
import { rulesOf } from '../posts/approval-rule.ts';
import { contentTypes, DEFAULT_CONTENT_TYPE } from '../posts/model.ts';
import { providers } from '../providers/index.ts';
import type { Services } from '../server/services.ts';
import {
  done,
  type OfOrganization,
  ofIntegration,
  ofOrganization,
  readOf,
  readText,
  type TidingsCommand,
  whole,
} from './command.ts';
import { repositoryNames } from './integration.ts';
import { type Cell, fields, switchStatus, type Text, table } from './output.ts';
import { addRunCommands } from './trigger-runs.ts';

/** `false` comes from `--no-…`, which removes a filter or a template. */
interface RuleFlags extends Partial<Record<keyof typeof filterHelp, string[] | string | boolean>> {
  prereleases?: 'yes' | 'no';
  title?: string | false;
  template?: string | false;
  contentType?: NewTrigger['contentType'];
  publish?: boolean;
  suggestWording?: boolean;
}

type CreateFlags = RuleFlags &
  Pick<NewTrigger, 'repository' | 'event' | 'action' | 'contentType' | 'last'> & {
    integration: string;
    disabled?: true;
  };

export function add(program: TidingsCommand): void {
  const group = program.sub('trigger', 'Choose which events become posts, and how');
  const command = group.about('trigger');
  const minimal = 'trigger create --integration int_… --event release --content-type changelog';
  group.examples(minimal, 'trigger list', 'trigger rehearse trg_… --since 30d');

  const create = group
    .sub('create', 'Create posts from the events of an integration')
    .requiredOption('--integration <id>', 'Integration')
    .option('--repository <owner/name>', 'Only this repository of the integration')
    .requiredOption(
      '--event <event>',
      providers
        .map(({ name, triggerEvents }) => `${name}: ${Object.keys(triggerEvents).join(', ')}`)
        .join('; '),
    )
    .option('--action <action>', 'Action of the event (default: the one that makes posts)')
    .addOption(contentTypeOption().default(DEFAULT_CONTENT_TYPE));
  addRuleOptions(create, false)
    .option('--publish', 'Publish the posts at once (default: create drafts)')
    .option('--suggest-wording', 'Ask the assistant to word each draft; it only makes suggestions')
    .option('--disabled', 'Create the trigger disabled')
    .option(
      '--last <number>',
      `Also create drafts of this many past releases, up to ${MAX_LAST}. They are drafts even with --publish.`,
      whole(1, MAX_LAST),
    )
    .answers(
      async (services, flags: CreateFlags) => {
        const { integration: integrationId, repository, event, action, contentType, last } = flags;
        const rule = { ...(await changesOf(flags)), contentType, enabled: !flags.disabled };
        const given = { ...rule, integrationId, repository, event, action, last };
        const made = await withNames(services, createTrigger(services, given));
        return { ...made, requested: await services.db.read((tx) => countRequests(tx, made.trigger.id)) };
      },
      ({ requested, ...made }, { last, disabled }) => [
        describe(made),
        last === undefined ? '' : describeLast(requested, disabled),
      ],
      ({ trigger }) => trigger,
    );
  create.examples(
    minimal,
    `${minimal} --last 5`,
    'trigger create --integration int_… --event push --branch main',
  );

  const change = command('change', 'Change the filters and the templates of a trigger').addOption(
    contentTypeOption(),
  );
  addRuleOptions(change, true)
    .option('--publish', 'Publish the posts at once')
    .option('--no-publish', 'Create drafts')
    .option('--suggest-wording', 'Ask the assistant to word each draft; it only makes suggestions')
    .option('--no-suggest-wording', 'Do not ask the assistant')
    .hook('preAction', (given) => {
      if (Object.keys(given.opts()).length > 0) return;
      given.error('error: nothing to change. Add a filter, a template, --content-type or --publish');
    })
    .answers(
      async (services, id: string, flags: RuleFlags) => {
        const { filters } = await services.db.read((tx) => getTrigger(tx, id));
        return withNames(services, changeTrigger(services, id, await changesOf(flags, filters)));
      },
      describe,
      ({ trigger }) => trigger,
    );
  change.examples(
    'trigger change trg_… --prereleases no',
    'trigger change trg_… --template body.liquid --title "{{ release.name }}"',
    'trigger change trg_… --no-branch --publish',
  );

  group
    .sub('list', 'List the triggers, oldest first')
    .addOption(ofOrganization)
    .addOption(ofIntegration)
    .answers(
      (services, { organization, integration }: OfOrganization & { integration?: string }) =>
        readOf(services, organization, async (tx) => {
          if (integration !== undefined) await getIntegration(tx, integration);
          const triggers = await listTriggers(tx, {
            organizationId: organization,
            integrationId: integration,
          });
          return Promise.all(triggers.map((each) => withApproval(tx, services, each)));
        }),
      (all) =>
        all.length === 0
          ? `No triggers yet. Create one: ${tidings} trigger create --integration ID --event release --content-type changelog`
          : table(['ID', 'EVENT', 'CREATES', 'FILTERS', 'STATUS', 'INTEGRATION'], all.map(row), [
              'FILTERS',
              'EVENT',
              'CREATES',
            ]),
      (all) => all.map(({ trigger }) => trigger),
    )
    .examples('trigger list', 'trigger list --organization acme');

  command('show', 'Show a trigger with its templates')
    .answers(
      (services, id: string) =>
        withNames(
          services,
          services.db.read((tx) => getTrigger(tx, id)),
        ),
      describeWhole,
      ({ trigger }) => trigger,
    )
    .examples('trigger show trg_…');

  const switches = {
    enable: 'Enable a trigger. For earlier events, replay their deliveries.',
    disable: 'Disable a trigger',
  };
  group.addSwitch('trigger', 'trg_…', switches, switchTrigger);

  command('delete', 'Delete a trigger for good. Its posts stay.')
    .answers(done('deleted', deleteTrigger), ({ id }) => `Deleted: ${id}`)
    .examples('trigger delete trg_…');

  addRunCommands(group);
}

interface WithApproval {
  trigger: Trigger;
  /** A second person must approve its posts. */
  needsApproval: boolean;
}

async function withApproval(tx: ReadTx, services: Services, trigger: Trigger): Promise<WithApproval> {
  const { needsApproval } = await rulesOf(tx, services, { organizationId: trigger.organizationId });
  return { trigger, needsApproval };
}

interface NamedTrigger extends WithApproval {
  /** The names of all repositories, by id. */
  names: ReadonlyMap<string, string>;
}

async function withNames(services: Services, asked: Promise<Trigger>): Promise<NamedTrigger> {
  const trigger = await asked;
  const found = await services.db.read((tx) => withApproval(tx, services, trigger));
  return { ...found, names: await repositoryNames(services) };
}

const filterHelp = {
  branch: [
    '<pattern...>',
    'Only these branches; * matches anything (default: the default branch; for releases, every branch)',
  ],
  label: ['<name...>', 'Only with one of these labels'],
  path: ['<pattern...>', 'Only changes of these files, such as packages/api/**; * matches anything'],
  tag: ['<pattern...>', 'Only releases with these tags; * matches anything'],
  team: ['<name...>', 'Only these teams, by key, name or ID'],
  project: ['<name...>', 'Only these projects, by name or ID'],
  block: ['<name>', `Read entries from blocks with this name (default: ${RELEASE_NOTE})`],
  excludeLabel: [
    '<name...>',
    `Leave out changes with one of these labels (default: ${SKIP_LABELS.join(', ')})`,
  ],
  excludeAuthor: ['<name...>', 'Leave out changes of these authors, such as dependabot[bot]'],
  excludeBots: ['', 'Leave out changes of all bots'],
  excludeTitle: ['<pattern...>', 'Leave out changes with these titles; * matches anything'],
  excludeType: ['<type...>', 'Leave out changes of these conventional types, such as chore'],
} as const;

function addRuleOptions(command: TidingsCommand, canRemove: boolean): TidingsCommand {
  for (const [name, [argument, help]] of Object.entries(filterHelp)) {
    const flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    command.option(`--${flag} ${argument}`.trim(), help);
    if (canRemove) command.option(`--no-${flag}`, `Remove the ${flag} filter`);
  }
  const yesOrNo = new Option('--prereleases <yes|no>', 'Include pre-releases (default: yes)');
  command
    .addOption(yesOrNo.choices(['yes', 'no']))
    .option('--title <liquid>', 'Template of the title (default: built in)')
    .option('--template <file>', 'File with the template of the body (default: built in)');
  if (canRemove) {
    command.option('--no-title', 'Use the built-in title').option('--no-template', 'Use the built-in body');
  }
  return command;
}

/** The part of the rule that the flags change. Given filters replace current ones. */
async function changesOf(flags: RuleFlags, current: TriggerFilters = {}): Promise<TriggerChanges> {
  const { contentType, publish, suggestWording, title, template, prereleases } = flags;
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
    ...(suggestWording !== undefined && { suggests: suggestWording }),
    ...(title !== undefined && { titleTemplate: title === false ? null : title }),
    ...(template !== undefined && { bodyTemplate: template === false ? null : await readText(template) }),
  };
}

function contentTypeOption(): Option {
  return new Option('--content-type <type>', 'Content type of the posts').choices(contentTypes);
}

function row({ trigger, needsApproval }: WithApproval): Cell[] {
  const { id, event, action, contentType, publish, filters, enabled, integrationId } = trigger;
  const posts = publish ? `${contentType}, ${needsApproval ? 'for approval' : 'published'}` : contentType;
  const state = switchStatus(enabled);
  return [id, `${event} ${action}`, posts, describeFilters(filters), state, integrationId];
}

function describe({ trigger, needsApproval, names }: NamedTrigger) {
  const { id, event, action, contentType, publish, filters, enabled, repositoryId } = trigger;
  const origin = (template: string | null) => (template === null ? 'built in' : 'custom');
  return fields({
    Trigger: id,
    Event: `${event} ${action}`,
    Creates: `${contentType}, ${publish ? publishedWords({ needsApproval }) : 'as a draft'}${trigger.suggests ? ', with suggested wording' : ''}`,
    Filters: describeFilters(filters),
    Templates: `title ${origin(trigger.titleTemplate)}, body ${origin(trigger.bodyTemplate)}`,
    Integration: `${trigger.integrationId} (${trigger.integrationType})`,
    ...(repositoryId !== null && { Repository: names.get(repositoryId) ?? repositoryId }),
    Status: switchStatus(enabled),
  });
}

function describeLast(requested: number, disabled = false): string {
  if (requested === 0) return 'Past releases: none match the filters.';
  return `Past releases: ${count(requested, 'draft')} queued${disabled ? ' until the trigger is enabled' : ''}.`;
}

function describeWhole(named: NamedTrigger): Text {
  const { event, contentType, titleTemplate, bodyTemplate } = named.trigger;
  const builtIn = builtInTemplates(event, contentType);
  return [
    describe(named),
    `Title:\n${titleTemplate ?? builtIn.title}`,
    `Body:\n${bodyTemplate ?? builtIn.body}`,
  ];
}

import { InvalidArgumentError, Option } from 'commander';
import { makeNow } from '../drafting/roundups/make.ts';
import {
  CADENCES,
  changeRoundup,
  createRoundup,
  deleteRoundup,
  describeSchedule,
  EMPTY,
  GROUPINGS,
  hasTeams,
  nameSources,
  type RoundupRule,
  RULE_DEFAULTS,
  switchRoundup,
  TIME_OF_DAY,
  WEEKDAYS,
} from '../drafting/roundups/service.ts';
import { getRoundup, listRoundups, type Roundup, type Source } from '../drafting/roundups/store.ts';
import { listIntegrations } from '../integrations/store.ts';
import type { Integration } from '../integrations/words.ts';
import { AppError } from '../lib/app-error.ts';
import { tidings } from '../lib/build.ts';
import { formatInZone, knownZone } from '../lib/time.ts';
import { contentTypes } from '../posts/model.ts';
import type { Services } from '../server/services.ts';
import { done, type OfOrganization, ofOrganization, readOf, type TidingsCommand } from './command.ts';
import { findOrganizationId } from './draft.ts';
import { type Cell, fields, oneLine, switchStatus, table } from './output.ts';
import { withComposer } from './trigger-runs.ts';

interface RuleFlags extends Partial<Omit<RoundupRule, 'sources'>> {
  repository?: string[];
  team?: string[];
  integration?: string[];
}

export function add(program: TidingsCommand): void {
  const group = program.sub('roundup', 'Make one draft by the calendar of what changed in several places');
  const command = group.about('roundup');
  const minimal = 'roundup create --name "This week" --repository acme/rocket acme/site';
  group.examples(minimal, 'roundup list', 'roundup now rnd_…');

  const create = group
    .sub('create', 'Create a roundup of repositories and teams')
    .option('--organization <id>', 'Organization that gets the drafts (default: the only one)')
    .requiredOption('--name <name>', 'Name, which begins the titles of the drafts');
  addRuleOptions(create, true).answers(
    async (services, flags: RuleFlags & { name: string; organization?: string }) => {
      const organizationId = await findOrganizationId(services, flags);
      const sources = await sourcesOf(services, organizationId, flags);
      if (sources === null)
        throw new AppError(400, 'Choose its places with --repository, --team or --integration.');
      const rule = { ...RULE_DEFAULTS, ...ruleOf(flags), name: flags.name, sources };
      return withNames(services, await createRoundup(services, organizationId, rule));
    },
    describe,
    ({ roundup }) => roundup,
  );
  create.examples(
    minimal,
    'roundup create --name "The month" --cadence monthly --time-zone Europe/Berlin --team ENG --group-by kind',
  );

  const change = command('change', 'Change a roundup. Given places replace all of its places.').option(
    '--name <name>',
    'Name, which begins the titles of the drafts',
  );
  addRuleOptions(change, false)
    .hook('preAction', (given) => {
      if (Object.keys(given.opts()).length === 0) given.error('error: nothing to change. Add an option');
    })
    .answers(
      async (services, id: string, flags: RuleFlags) => {
        const { organizationId } = await services.db.read((tx) => getRoundup(tx, id));
        const sources = await sourcesOf(services, organizationId, flags);
        const changes = { ...ruleOf(flags), ...(sources && { sources }) };
        return withNames(services, await changeRoundup(services, id, changes));
      },
      describe,
      ({ roundup }) => roundup,
    )
    .examples('roundup change rnd_… --weekday friday --time 16:00', 'roundup change rnd_… --when-empty line');

  group
    .sub('list', 'List the roundups, oldest first')
    .addOption(ofOrganization)
    .answers(
      (services, { organization }: OfOrganization) =>
        readOf(services, organization, (tx) => listRoundups(tx, { organizationId: organization })),
      (all) =>
        all.length === 0
          ? `No roundups yet. Create one: ${tidings} roundup create --name NAME --repository OWNER/NAME`
          : table(['ID', 'NAME', 'SCHEDULE', 'NEXT', 'STATUS'], all.map(row), ['SCHEDULE', 'NAME', 'NEXT']),
    )
    .examples('roundup list', 'roundup list --organization acme');

  command('now', 'Make the draft now of what has changed since the last one. The schedule stays.')
    .answers(
      (services, id: string) => withComposer((compose) => makeNow(services, compose, id)),
      (made) =>
        made === null
          ? 'No draft: nothing has changed.'
          : `Draft written: ${oneLine(made.title, 200)}\nPost: ${made.id}`,
      (post) => ({ post }),
    )
    .examples('roundup now rnd_…');

  const switches = {
    enable: 'Enable a roundup. Its next draft has the changes that arrived meanwhile, too.',
    disable: 'Disable a roundup. It writes no drafts, and keeps its changes.',
  };
  group.addSwitch('roundup', 'rnd_…', switches, switchRoundup);

  command('delete', 'Delete a roundup for good. Its posts stay.')
    .answers(done('deleted', deleteRoundup), ({ id }) => `Deleted: ${id}`)
    .examples('roundup delete rnd_…');
}

function addRuleOptions(command: TidingsCommand, isNew: boolean): TidingsCommand {
  const help = (text: string, value: string) => (isNew ? `${text} (default: ${value})` : text);
  const option = (flag: string, text: string, value: string, choices: readonly string[]) =>
    new Option(flag, help(text, value)).choices(choices);
  return command
    .option('--repository <name...>', 'Repositories, as OWNER/NAME')
    .option(
      '--team <name...>',
      'Teams of an issue tracker, by key, name or id; int_…:KEY among several trackers',
    )
    .option('--integration <id...>', 'All repositories or teams of these integrations')
    .addOption(
      option('--cadence <cadence>', 'How often; biweekly: every two weeks', RULE_DEFAULTS.cadence, CADENCES),
    )
    .option('--weekday <day>', help('Day of the week; monthly: the first such day', 'monday'), weekdayOf)
    .option('--time <time>', help('Time of the day', RULE_DEFAULTS.time), timeOf)
    .option(
      '--time-zone <name>',
      help('Time zone of that time, such as Europe/Berlin', RULE_DEFAULTS.timeZone),
      zoneOf,
    )
    .addOption(option('--group-by <what>', 'Sections of the draft', RULE_DEFAULTS.groupBy, GROUPINGS))
    .addOption(
      option(
        '--when-empty <what>',
        'Without changes: no draft, or one that says so',
        RULE_DEFAULTS.whenEmpty,
        EMPTY,
      ),
    )
    .addOption(
      option('--content-type <type>', 'Content type of the drafts', RULE_DEFAULTS.contentType, contentTypes),
    );
}

function weekdayOf(text: string): number {
  const index = WEEKDAYS.findIndex((name) => name.toLowerCase() === text.toLowerCase());
  if (index >= 0) return index + 1;
  throw new InvalidArgumentError(`It must be one of ${WEEKDAYS.join(', ').toLowerCase()}.`);
}

function timeOf(text: string): string {
  if (TIME_OF_DAY.test(text)) return text;
  throw new InvalidArgumentError('It must be a time from 00:00 to 23:59, such as 09:00.');
}

function zoneOf(text: string): string {
  const zone = knownZone(text);
  if (zone === null) throw new InvalidArgumentError('It must be an IANA name, such as Europe/Berlin.');
  return zone;
}

/** The given fields. */
function ruleOf(flags: RuleFlags): Partial<Omit<RoundupRule, 'sources'>> {
  const names = ['name', ...Object.keys(RULE_DEFAULTS)] as ('name' | keyof typeof RULE_DEFAULTS)[];
  return Object.fromEntries(
    names.flatMap((name) => (flags[name] === undefined ? [] : [[name, flags[name]]])),
  );
}

/** Null where none are given. Throws `AppError` 404 and 400. */
async function sourcesOf(
  { db }: Services,
  organizationId: string,
  { repository = [], team = [], integration = [] }: RuleFlags,
): Promise<Source[] | null> {
  if (repository.length + team.length + integration.length === 0) return null;
  const all = await db.read((tx) => listIntegrations(tx, organizationId));
  return [
    ...integration.map((id) => findWhole(all, id)),
    ...repository.map((name) => findRepository(all, name)),
    ...team.map((name) => findTeam(all, name)),
  ];
}

function findWhole(integrations: readonly Integration[], id: string): Source {
  if (integrations.some((each) => each.id === id))
    return { integrationId: id, repositoryId: null, team: null };
  throw new AppError(404, `The organization has no integration ${id}.`);
}

function findRepository(integrations: readonly Integration[], name: string): Source {
  const places = integrations.flatMap(({ id: integrationId, repositories }) =>
    repositories.map((each) => ({ ...each, integrationId })),
  );
  const place = places.find(({ fullName }) => fullName.toLowerCase() === name.toLowerCase());
  if (place !== undefined) return { integrationId: place.integrationId, repositoryId: place.id, team: null };
  const known = places.map(({ fullName }) => fullName).join(', ');
  throw new AppError(404, `The organization has no repository ${name}. It has: ${known || 'none'}.`);
}

function findTeam(integrations: readonly Integration[], given: string): Source {
  const [, id, team = given] = /^(int_[^:]+):(.+)$/s.exec(given) ?? [];
  const trackers = integrations.filter((each) => hasTeams(each) && (id === undefined || each.id === id));
  const [tracker, ...others] = trackers;
  if (tracker === undefined) throw new AppError(404, `The organization has no issue tracker with ${given}.`);
  if (others.length === 0) return { integrationId: tracker.id, repositoryId: null, team };
  const ids = trackers.map((each) => `${each.id}:${team}`).join(' or ');
  throw new AppError(400, `The organization has several issue trackers. Name one of them: ${ids}.`);
}

interface Named {
  roundup: Roundup;
  integrations: readonly Integration[];
}

async function withNames({ db }: Services, roundup: Roundup): Promise<Named> {
  return { roundup, integrations: await db.read((tx) => listIntegrations(tx, roundup.organizationId)) };
}

const nextOf = ({ enabled, nextAt, timeZone }: Roundup) =>
  enabled ? formatInZone(new Date(nextAt), timeZone) : '–';

function row(roundup: Roundup): Cell[] {
  const { id, name } = roundup;
  return [id, oneLine(name), describeSchedule(roundup), nextOf(roundup), switchStatus(roundup.enabled)];
}

function describe({ roundup, integrations }: Named) {
  const { id, name, groupBy, whenEmpty, contentType } = roundup;
  return fields({
    Roundup: id,
    Name: name,
    Schedule: describeSchedule(roundup),
    Next: nextOf(roundup),
    Places: nameSources(roundup, integrations).join(', ') || 'none',
    Creates: `${contentType} drafts, grouped by ${groupBy}`,
    'Without changes': whenEmpty === 'skip' ? 'no draft' : 'a draft that says so',
    Status: switchStatus(roundup.enabled),
  });
}

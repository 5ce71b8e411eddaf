import { type Command, Option } from 'commander';
import { AppError } from '../lib/app-error.ts';
import type { Trigger, TriggerFilters } from '../triggers/model.ts';

// The words that say what a trigger listens for and writes, the same for making and for changing one.

/** As commander reads them: `false` for `--no-…`, which takes a filter or a template away. */
export interface RuleFlags {
  branch?: string[] | false;
  label?: string[] | false;
  tag?: string[] | false;
  prereleases?: 'yes' | 'no';
  team?: string[] | false;
  project?: string[] | false;
  title?: string | false;
  template?: string | false;
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

/** Adds the options of filters and templates; with `canRemove` also those that take them away. */
export function ruleOptions(command: Command, canRemove: boolean): Command {
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

/** The filters that were given, over those that are there. */
export function filtersOf(flags: RuleFlags, current: TriggerFilters = {}): TriggerFilters {
  const filters: Record<string, unknown> = { ...current };
  for (const name of Object.keys(filterHelp) as (keyof typeof filterHelp)[]) {
    if (flags[name] === false) delete filters[name];
    else if (flags[name] !== undefined) filters[name] = flags[name];
  }
  if (flags.prereleases === 'no') filters.prereleases = false;
  if (flags.prereleases === 'yes') delete filters.prereleases;
  return filters as TriggerFilters;
}

/** The templates that were given; absent ones stay as they are. */
export async function templatesOf({
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

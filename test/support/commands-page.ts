import { join } from 'node:path';
import type { Command } from 'commander';
import { commandsOf, pathOf } from '../../src/cli/command.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { optionOf, settingNames, settingOf } from '../../src/server/settings.ts';
import { root } from './server.ts';

// Makes docs/commands.md from the program. `bun run docs:commands` writes it; a test compares it with the program.

export const COMMANDS_PAGE = 'docs/commands.md';

const intro = `# Commands and settings

In a checkout, type \`bun run tidings\` instead of \`tidings\`. Every command has \`--help\`, with examples, and takes
\`--data-dir FOLDER\` and \`--json\`, which prints one JSON value. Commands work while the server runs and take effect at once.
They exit with 0, with 1 if the work failed, and with 2 if a command, an option, or a value is wrong. Where \`--SETTING\` stands,
every [setting](#settings) is an option. \`bun run docs:commands\` writes this page.
`;

const settingsIntro = `## Settings

Set environment variables, or the flags of \`serve\` with the same names, such as \`--public-url\`. If a value is invalid, the
server doesn't start, and names the variable.

A secret can be in a file: \`SECRET_KEY_FILE=/run/secrets/secret_key\` stands for the content of that file, without the line break
at its end. This works for the settings marked with *. Set the variable or its \`_FILE\`, not both.
`;

type Row = readonly [term: string, description: string];

const terminal = {
  write: () => undefined,
  writeError: () => undefined,
  isInteractive: false,
  width: 100,
  hasColor: false,
  errorHasColor: false,
  hasSymbols: true,
};

const settingFlags = new Set(settingNames.map((name) => optionOf(name)[0]));

function optionsOf(command: Command): Row[] {
  const help = command.createHelp();
  const options = help.visibleOptions(command).filter(({ long }) => long !== '--help');
  const settings = options.filter(({ flags }) => settingFlags.has(flags));
  const takesAll = settings.length >= settingNames.length - 1;
  const rows = options
    .filter((option) => !(takesAll && settings.includes(option)))
    .map((option): Row => [`  ${help.optionTerm(option)}`, help.optionDescription(option)]);
  return takesAll ? [...rows, ['  --SETTING <value>', 'Any setting']] : rows;
}

/** The rows of one command; those of siblings that differ in name alone are written once, as `send a|b`. */
function rowsOf(commands: readonly Command[]): Row[] {
  const blocks = new Map<string, { command: Command; names: string[]; options: Row[] }>();
  for (const command of commands) {
    const options = optionsOf(command);
    const parent = command.parent === null ? '' : pathOf(command.parent).join(' ');
    const key = options.length > 3 ? JSON.stringify([parent, options]) : pathOf(command).join(' ');
    const block = blocks.get(key);
    if (block === undefined) blocks.set(key, { command, names: [command.name()], options });
    else block.names.push(command.name());
  }
  return [...blocks.values()].flatMap(({ command, names, options }): Row[] => {
    let operands = command.usage().replace(/^\[options\] ?/, '');
    for (const argument of command.registeredArguments) {
      const { argChoices = [argument.name()] } = argument;
      operands = operands.replace(`<${argument.name()}`, `<${argChoices.join('|')}`);
    }
    const words = [...pathOf(command).slice(0, -1), names.join('|'), operands];
    return [[words.join(' ').trimEnd(), command.description()], ...options];
  });
}

/** The program on a terminal that shows nothing. `words`: those that it is to parse, if any. */
export const program = (words?: readonly string[]) => buildProgram({ environment: {}, terminal }, words);

export async function commandsPage(): Promise<string> {
  const groups = Map.groupBy(
    (await program()).commands.filter((command) => command.name() !== 'help'),
    (command) => command.helpGroup().replace(':', ''),
  );
  const sections = Array.from(groups, ([heading, commands]) => {
    const blocks = commands.map((command) =>
      rowsOf(commandsOf(command).filter((each) => each.commands.length === 0)),
    );
    const width = Math.max(...blocks.flat().map(([term]) => term.length));
    const texts = blocks.map((rows) =>
      rows.map(([term, description]) => `${term.padEnd(width)}  ${description}`).join('\n'),
    );
    return `## ${heading}\n\n\`\`\`text\n${texts.join('\n\n')}\n\`\`\`\n`;
  });
  return [intro, ...sections, settingsIntro, settingsTable()].join('\n');
}

function settingsTable(): string {
  const rows = settingNames.map((name): Row => {
    const { help, default: byDefault, isSecret } = settingOf(name);
    return [
      `${name}${isSecret ? '*' : ''}`,
      byDefault === undefined ? help : `${help} (default: ${byDefault})`,
    ];
  });
  const width = Math.max(...rows.map(([name]) => name.length));
  return `\`\`\`text\n${rows.map(([name, help]) => `${name.padEnd(width)}  ${help}`).join('\n')}\n\`\`\`\n`;
}

if (import.meta.main) await Bun.write(join(root, COMMANDS_PAGE), await commandsPage());

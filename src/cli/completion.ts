import { Argument, type Option } from 'commander';
import { commandsOf, pathOf, type TidingsCommand } from './command.ts';

// Scripts that complete commands, options and choices, made from the tree of commands.

export function add(program: TidingsCommand): void {
  program
    .sub('completion', 'Print a script that completes commands in a shell')
    .addArgument(new Argument('<shell>', 'Shell').choices(Object.keys(scripts)))
    .action((shell: keyof typeof scripts, _: object, command: TidingsCommand) => {
      const script = scripts[shell](program.name(), commandsOf(program).map(levelOf));
      command.print({ shell, script }, () => script);
    })
    .note(`Load it when the shell starts:
  bash: add "source <(${program.name()} completion bash)" to ~/.bashrc
  zsh:  write it to _${program.name()} in a folder of $fpath
  fish: write it to ~/.config/fish/completions/${program.name()}.fish`)
    .examples('completion bash', `completion fish > ~/.config/fish/completions/${program.name()}.fish`);
}

/** One command: the words that can follow it. */
interface Level {
  /** Such as `key create`; empty for the program itself. */
  path: string;
  commands: { name: string; description: string }[];
  options: (Value & { flag: string; description: string; isVariadic: boolean })[];
  operands: (Value & { isVariadic: boolean })[];
}

/** The value of an option or an argument. `kind` is null for a flag without a value. */
interface Value {
  kind: 'choice' | 'file' | 'folder' | 'text' | null;
  name: string;
  choices: readonly string[];
}

function levelOf(command: TidingsCommand): Level {
  const help = command.createHelp();
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
  return {
    path: pathOf(command).join(' '),
    commands: help
      .visibleCommands(command)
      .map((each) => ({ name: each.name(), description: each.description() })),
    options: options.flatMap((option) => {
      if (option.long == null) return [];
      const { description, variadic } = option;
      return { ...optionValue(option), flag: option.long, description, isVariadic: variadic };
    }),
    operands: command.registeredArguments.map((argument) => ({
      ...namedValue(argument.name(), argument.argChoices),
      isVariadic: argument.variadic,
    })),
  };
}

function optionValue({ flags, argChoices, required, optional }: Option): Value {
  const [, name = ''] = /[<[]([\w-]+)/.exec(flags) ?? [];
  return required || optional ? namedValue(name, argChoices) : { kind: null, name, choices: [] };
}

function namedValue(name: string, choices: readonly string[] = []): Value {
  const kind = choices.length > 0 ? 'choice' : name === 'file' || name === 'folder' ? name : 'text';
  return { kind, name, choices };
}

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** A word for any of the three shells. Fish also reads backslashes, which the words do not have. */
const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

const indent = (lines: readonly string[], by: number) =>
  lines.map((line) => ' '.repeat(by) + line).join('\n');

function bashScript(program: string, levels: readonly Level[]): string {
  const flags = (options: Level['options']) => quote(options.map(({ flag }) => flag).join(' '));
  const cases = levels.map(({ path, commands, options }) => {
    const valued = options.filter(({ kind }) => kind !== null);
    return `${quote(path)}) commands=${quote(commands.map(({ name }) => name).join(' '))} options=${flags(options)} valued=${flags(valued)} variadic=${flags(valued.filter(({ isVariadic }) => isVariadic))} ;;`;
  });
  const action = ({ kind, choices }: Value) =>
    kind === 'choice' ? `words=${quote(choices.join(' '))}` : `complete=${kind}`;
  const values = levels.flatMap(({ path, options, operands }) => [
    ...options
      .filter(({ kind }) => kind !== null && kind !== 'text')
      .map((option) => `${quote(`${path}:${option.flag}`)}) ${action(option)} ;;`),
    ...operands.flatMap((operand, index) => {
      const pattern = quote(`${path}:${index}`) + (operand.isVariadic ? `|${quote(`${path}:`)}*` : '');
      return operand.kind === 'text' ? [] : `${pattern}) ${action(operand)} ;;`;
    }),
  ]);
  return `# ${program} completion for bash
_${program}_at() {
  case "$1" in
${indent(cases, 4)}
  esac
}
_${program}() {
  local path='' open='' operands=0 words='' complete='' word i
  local commands options valued variadic
  local cur="\${COMP_WORDS[COMP_CWORD]}"
  _${program}_at ''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    if [[ $word == -* ]]; then
      open=''
      [[ " $valued " == *" $word "* ]] && open="$word"
    elif [[ $word == '=' ]]; then
      continue
    elif [[ -n $open ]]; then
      [[ " $variadic " == *" $open "* ]] || open=''
    elif [[ " $commands " == *" $word "* ]]; then
      path="\${path:+$path }$word"
      commands='' options='' valued='' variadic=''
      _${program}_at "$path"
    else
      operands=$((operands + 1))
    fi
  done
  [[ $cur == '=' ]] && cur=''
  if [[ $cur == -* ]]; then
    words="$options"
  elif [[ -z $open && -n $commands ]]; then
    words="$commands"
  else
    case "$path:\${open:-$operands}" in
${indent(values, 6)}
    esac
  fi
  COMPREPLY=()
  case "$complete" in
    file) compopt -o filenames 2>/dev/null; words=$(compgen -f -- "$cur") ;;
    folder) compopt -o filenames 2>/dev/null; words=$(compgen -d -- "$cur") ;;
    *) words=$(compgen -W "$words" -- "$cur") ;;
  esac
  while IFS= read -r word; do
    [[ -n $word ]] && COMPREPLY+=("$word")
  done <<< "$words"
}
complete -F _${program} ${program}`;
}

function zshScript(program: string, levels: readonly Level[]): string {
  const nameOf = (path: string) =>
    ['', program, ...path.split(' ').filter(Boolean)].join('_').replaceAll('-', '_');
  const action = ({ kind, name, choices }: Value) =>
    `:${name}:${{ choice: `(${choices.join(' ')})`, file: '_files', folder: '_files -/', text: ' ' }[kind ?? 'text']}`;
  const escapeZsh = (text: string) => text.replaceAll(/[[\]:\\]/g, '\\$&');
  const functions = levels.map(({ path, commands, options, operands }) => {
    const specs = [
      ...options.map((option) => {
        const repeats = option.isVariadic ? '*' : '';
        return `${repeats}${option.flag}[${escapeZsh(option.description)}]${option.kind === null ? '' : action(option)}`;
      }),
      ...operands.map((operand, index) => `${operand.isVariadic ? '*' : index + 1}${action(operand)}`),
    ];
    if (commands.length === 0) {
      return `${nameOf(path)}() {\n  _arguments \\\n${indent(specs.map(quote), 4).replaceAll('\n', ' \\\n')}\n}`;
    }
    const below = levels.filter((each) =>
      commands.some(({ name }) => each.path === `${path} ${name}`.trim()),
    );
    const branches = below.map((each) => `${each.path.split(' ').at(-1)}) ${nameOf(each.path)} ;;`);
    const descriptions = commands.map(({ name, description }) => quote(`${name}:${escapeZsh(description)}`));
    return `${nameOf(path)}() {
  local curcontext="$curcontext" state line
  local -a commands=(
${indent(descriptions, 4)}
  )
  _arguments -C \\
${indent([...specs, '1: :->command', '*:: :->rest'].map(quote), 4).replaceAll('\n', ' \\\n')}
  case "$state" in
    command) _describe command commands ;;
    rest)
      case "$words[1]" in
${indent(branches, 8)}
      esac ;;
  esac
}`;
  });
  return `#compdef ${program}
${functions.join('\n')}
if [[ "$funcstack[1]" == _${program} ]]; then
  _${program} "$@"
else
  compdef _${program} ${program}
fi`;
}

function fishScript(program: string, levels: readonly Level[]): string {
  const flags = levels.flatMap(({ options }) => options.filter(({ kind }) => kind !== null));
  const valued = [...new Set(flags.map(({ flag }) => flag))];
  const action = ({ kind, choices }: Value) =>
    ({
      choice: `-x -a ${quote(choices.join(' '))}`,
      file: '-r -F',
      folder: `-x -a '(__fish_complete_directories)'`,
      text: '-x',
    })[kind ?? 'text'];
  const add = `complete -c ${program}`;
  const everywhere = new Set(levels[0]?.options.map(({ flag }) => flag));
  const lines = levels.flatMap(({ path, commands, options, operands }) => [
    ...commands.map(
      ({ name, description }) =>
        `${add} -n ${quote(`__${program}_at 0 ${path}`.trim())} -a ${name} -d ${quote(description)}`,
    ),
    ...options.flatMap((option) =>
      path !== '' && everywhere.has(option.flag)
        ? []
        : `${add} -n ${quote(`__${program}_in ${path}`.trim())} -l ${option.flag.slice(2)}${option.kind === null ? '' : ` ${action(option)}`} -d ${quote(option.description)}`,
    ),
    ...operands.flatMap((operand, index) => {
      if (operand.kind === 'text') return [];
      const at = operand.isVariadic ? `__${program}_in ${path}` : `__${program}_at ${index} ${path}`;
      return `${add} -n ${quote(at)} ${action(operand).replace('-x', '-f').replace('-r ', '')}`;
    }),
  ]);
  return `# ${program} completion for fish
function __${program}_words
  set -l skip no
  for word in (commandline -opc)[2..-1]
    if test $skip = yes
      set skip no
    else if contains -- $word ${valued.join(' ')}
      set skip yes
    else if not string match -q -- '-*' $word
      echo -- $word
    end
  end
end
function __${program}_in
  set -l words (__${program}_words)
  test (count $argv) -eq 0; and return 0
  test "$words[1..$(count $argv)]" = "$argv"
end
function __${program}_at
  set -l words (__${program}_words)
  test (count $words) -eq (math $argv[1] + (count $argv) - 1); and __${program}_in $argv[2..-1]
end
${add} -f
${lines.join('\n')}`;
}

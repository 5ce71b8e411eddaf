import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';

// Each shell completes lines with the script that it is given. A shell that is not installed is skipped.

const folder = temporaryFolder();
const scriptOf = (shell: string) => join(folder.path, `completion.${shell}`);

beforeAll(async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout } = await cli(folder.path, ['completion', shell]);
    await Bun.write(scriptOf(shell), stdout);
  }
  mkdirSync(join(folder.path, 'files', 'posts'), { recursive: true });
  await Bun.write(join(folder.path, 'files', 'my posts.json'), '[]');
});

afterAll(() => folder.remove());

function run(command: readonly string[]): string[] {
  const child = Bun.spawnSync([...command], {
    cwd: join(folder.path, 'files'),
    env: { PATH: Bun.env.PATH, HOME: folder.path, TERM: 'xterm', LANG: 'C.UTF-8' },
    stdin: 'ignore',
  });
  expect({ stderr: child.stderr.toString(), exitCode: child.exitCode }).toEqual({ stderr: '', exitCode: 0 });
  // Zsh offers a folder both as a folder and as a file.
  return [...new Set(child.stdout.toString().split('\n').filter(Boolean))].sort();
}

/** Splits `--plan=p` as bash does. */
const splitWords = (line: string) => line.split(/ |(?<==)|(?==)/);

const BASH = `
source "$1"; shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_tidings
[[ \${#COMPREPLY[@]} -eq 0 ]] || printf '%s\\n' "\${COMPREPLY[@]}"
`;

/** Presses the tab key in a real zsh, and prints the words that it would insert. */
const ZSH = `
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1=; autoload -Uz compinit; compinit -u -D; source '$1'
bindkey '^I' complete-word
null-line() { echo -n \\$'\\\\0'; }
compprefuncs=( null-line ); comppostfuncs=( null-line exit )
zstyle ':completion:*' list-grouped false
compadd() {
  [[ \\\${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]] && { builtin compadd \\"\\$@\\"; return; }
  local -a __hits
  builtin compadd -A __hits \\"\\$@\\"
  builtin compadd \\"\\$@\\"
  for hit in \\$__hits; do echo -E \\"hit:\\$hit\\"; done
}
echo ready"
zpty -r -m z seen '*ready*ready*'
zpty -w -n z "$2"$'\\t'
while zpty -r z line; do [[ $line == *hit:* ]] && print -r -- "\${\${line##*hit:}%$'\\r\\n'}"; done
exit 0
`;

const shells: Record<string, (line: string) => string[]> = {
  bash: (line) =>
    run(['bash', '--norc', '--noprofile', '-c', BASH, 'bash', scriptOf('bash'), ...splitWords(line)]),
  zsh: (line) => run(['zsh', '-f', '-c', ZSH, 'zsh', scriptOf('zsh'), line]),
  fish: (line) =>
    run(['fish', '--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', scriptOf('fish'), line]).map(
      (each) => each.split('\t')[0] ?? '',
    ),
};

describe.each(Object.entries(shells))('%s completes', (shell, complete) => {
  test.skipIf(Bun.which(shell) === null).each<[what: string, line: string, words: string[]]>([
    ['commands by their start', 'tidings se', ['send', 'serve']],
    ['commands of a group', 'tidings key ', ['create', 'delete', 'help', 'list', 'revoke']],
    [
      'commands of a group within a group',
      'tidings post suggestion ',
      ['accept', 'dismiss', 'help', 'list', 'show'],
    ],
    ['options by their start', 'tidings key create --n', ['--name']],
    ['global options below commands', 'tidings key list --j', ['--json']],
    ['choices of an option', 'tidings organization create --plan ', ['free', 'pro']],
    ['choices of an argument', 'tidings organization set-plan acme ', ['free', 'pro']],
    ['a command after the value of an option', 'tidings --data-dir key ke', ['key']],
    ['choices after another value', 'tidings user add a@b.example --role ', ['member', 'owner', 'writer']],
    ['choices by their start', 'tidings completion z', ['zsh']],
    ['nothing for a name', 'tidings key create --name ', []],
    ['nothing for an id', 'tidings key revoke ', []],
  ])(
    '%s',
    (_, line, words) => {
      expect(complete(line)).toEqual(words);
    },
    60_000,
  );

  test.skipIf(Bun.which(shell) === null)(
    'files, for each argument that names one',
    () => {
      const files = (line: string) =>
        complete(line).map((file) => file.replace(/\/$/, '').replaceAll('\\', ''));
      expect(files('tidings backup my')).toEqual(['my posts.json']);
      expect(files('tidings post import --organization acme my')).toEqual(['my posts.json']);
      expect(files('tidings post edit post_1 --markdown my')).toEqual(['my posts.json']);
      expect(files('tidings --data-dir po')).toEqual(['posts']);
    },
    60_000,
  );
});

test.skipIf(Bun.which('bash') === null).each([
  ['tidings organization create --plan=p', ['pro']],
  ['tidings organization create --plan=', ['free', 'pro']],
  ['tidings post list --status draft p', ['published']],
])('bash completes the value in %p', (line, words) => {
  expect(shells.bash?.(line)).toEqual(words);
});

test('--json prints the script as one value; an unknown shell is refused', async () => {
  expect(await cliJson(folder.path, ['completion', 'bash'])).toEqual({
    shell: 'bash',
    script: expect.stringContaining('complete -F _tidings tidings'),
  });
  const refused = await cli(folder.path, ['completion', 'tcsh']);
  expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
  expect(refused.stderr).toContain('Allowed choices are bash, zsh, fish');
});

import { styleText } from 'node:util';
import { type Command, Help } from 'commander';
import { tidings } from '../lib/build.ts';
import { wrap } from './output.ts';

// The layout of `--help`. Commander removes colors where the terminal has none.

/** Narrower descriptions go below their term. */
const MIN_DESCRIPTION_WIDTH = 32;

const INDENT = 6;

export const helpLayout: Partial<Help> = {
  showGlobalOptions: true,
  minWidthToWrap: MIN_DESCRIPTION_WIDTH,
  styleTitle: (title) => bold(title.replace('Global Options:', 'Global options:')),
  formatItem(term, termWidth, description, helper) {
    const width = helper.helpWidth ?? 80;
    if (description === '' || width - termWidth - 4 >= MIN_DESCRIPTION_WIDTH) {
      return Help.prototype.formatItem.call(helper, term, termWidth, description, helper);
    }
    const below = wrap(description, width - INDENT).split('\n');
    return [`  ${term}`, ...below.map((line) => `${' '.repeat(INDENT)}${line}`)].join('\n');
  },
};

const bold = (text: string) => styleText('bold', text, { validateStream: false });

/** Adds a paragraph below the options. */
export function note<Given extends Command>(command: Given, text: string): Given {
  return command.addHelpText('after', ({ error }) => {
    const { getErrHelpWidth, getOutHelpWidth } = command.configureOutput();
    return `\n${wrap(text, (error ? getErrHelpWidth : getOutHelpWidth)?.() ?? 80)}`;
  });
}

/** Adds command lines to the end of the help, as a person can paste them. */
export function examples<Given extends Command>(command: Given, ...lines: string[]): Given {
  return command.addHelpText(
    'after',
    `\n${bold('Examples:')}\n${lines.map((line) => `  ${tidings} ${line}`).join('\n')}`,
  );
}

import { describe, test } from 'bun:test';
import fc from 'fast-check';
import { sampleMaterial } from '../../src/drafting/check.ts';
import { checkTemplate, renderTemplate, TemplateError } from '../../src/drafting/template.ts';
import { variablesOf } from '../../src/drafting/variables.ts';
import { expectLinear } from '../support/growth.ts';
import { rounds } from '../support/rounds.ts';

// No template costs more than in proportion to its length, up to the limits on what it does. It runs in a thread.

/** The limit of a template, in characters. */
const MAX_SOURCE = 20_000;

const tokens = [
  ...['{{', '}}', '{%', '%}', '{{-', '-}}', '{%-', '-%}', '{', '}', '%'],
  ...[
    '{{ a }}',
    '{{ a | ',
    '{{ changes ',
    '| md ',
    '| plain ',
    '| cut: 5 ',
    '| append: ',
    '| split: "" ',
    '| ',
  ],
  ...[
    '{% if a %}',
    '{% if ',
    '{% endif %}',
    '{% else %}',
    '{% elsif a %}',
    '{% unless a %}',
    ' and ',
    ' or ',
  ],
  ...['{% for i in changes %}', '{% for i in (1..3) %}', '{% endfor %}', '{% for ', ' in ', '{% break %}'],
  ...[
    '{% case a %}',
    '{% when 1 %}',
    '{% when ',
    '{% endcase %}',
    '{% cycle 1, 2 %}',
    '{% tablerow i in a %}',
  ],
  ...[
    '{% raw %}',
    '{% endraw %}',
    '{% comment %}',
    '{% endcomment %}',
    '{% liquid ',
    '\n',
    '{% # ',
    '{% echo ',
  ],
  ...['{% assign a = ', '{% assign a = 1 %}', '{% capture a %}', '{% endcapture %}', '{% increment a %}'],
  ...[
    'a[',
    'a[0]',
    ']',
    'a.',
    'a',
    '.',
    '(',
    '(1..',
    ')',
    '"',
    "'",
    ':',
    ',',
    ' == ',
    '<',
    '=',
    '1',
    '-',
    ' ',
    '\t',
  ],
];
const token = fc.constantFrom(...tokens);
const some = (minLength: number, maxLength: number) =>
  fc.array(token, { minLength, maxLength }).map((parts) => parts.join(''));
const shape = fc.tuple(some(0, 3), some(1, 4), some(0, 3));

const seed = Number(Bun.env.SEED ?? 1);
const single = tokens
  .slice(0, rounds(0, tokens.length))
  .map((piece): [string, string, string] => ['', piece, '']);
const shapes = [
  ['', '{% if a %}', ''],
  ['{{ ', 'a[', ''],
  ['{{ a ', '| append: ', ''],
  ['', '{% raw %}', ''],
  ['{% case a %}', '{% when 1 %}', ''],
  ['', '{% capture a %}', ''],
  ...single,
  ...fc.sample(shape, { numRuns: rounds(8, 1_500), seed }),
];

const variables = variablesOf(sampleMaterial('release'));
/** A refusal is an answer too. */
const refusing = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
  }
};
const works: Record<string, (source: string) => void> = {
  'is checked': (source) => refusing(() => checkTemplate('body', source, variables)),
  'is rendered': (source) => refusing(() => renderTemplate('body', source, variables)),
};

describe.each(Object.entries(works))('a template %s', (name, work) => {
  test.each(shapes)('%j, many %j, %j', async (start = '', piece = '', end = '') => {
    const make = (size: number) =>
      start + piece.repeat(Math.max(0, size - start.length - end.length) / piece.length) + end;
    await expectLinear(`a template ${name}: ${JSON.stringify([start, piece, end])}`, make, work, {
      most: MAX_SOURCE,
    });
  });
});

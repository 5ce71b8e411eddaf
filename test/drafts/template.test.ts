import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  checkTemplate,
  renderBody,
  renderTemplate,
  renderTitle,
  TemplateError,
} from '../../src/drafting/template.ts';
import { AppError } from '../../src/lib/app-error.ts';
import { inlineMarkdown, toPlainText } from '../../src/lib/markdown/plain-text.ts';

const variables = {
  release: {
    name: 'Spring',
    tag: 'v2.0.0',
    notes: null,
    publishedAt: '2026-03-05T23:30:07.004Z',
    author: null,
    labels: ['api', 'web'],
  },
  changes: [
    { title: 'Faster *search*', kind: 'feature', breaking: null, parts: { area: 'web' } },
    { title: 'No more crashes', kind: 'fix', breaking: 'Ports moved', parts: { area: 'api' } },
    { title: 'Dark mode', kind: 'feature', breaking: null, parts: { area: 'web' } },
  ],
  none: [],
  empty: '',
};

function render(source: string, more: Record<string, unknown> = {}): string {
  return renderTemplate('body', source, { ...variables, ...more });
}

function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(TemplateError);
    return (error as TemplateError).message;
  }
  throw new Error('It did not throw');
}

function repeat(text: string, count: number): string {
  return text.repeat(count);
}

describe('the output of a template', () => {
  test.each([
    ['{{ release.name }} {{ release.tag }}', 'Spring v2.0.0'],
    ['[{{ release.notes }}]', '[]'],
    ['[{{ release.author.login }}]', '[]'],
    [
      '{% for change in changes %}- {{ change.title }}\n{% endfor %}',
      '- Faster *search*\n- No more crashes\n- Dark mode\n',
    ],
    ['{% for change in changes %}{{ forloop.index }}/{{ forloop.length }} {% endfor %}', '1/3 2/3 3/3 '],
    ['{% for change in none %}x{% else %}nothing{% endfor %}', 'nothing'],
    ['{% for i in (1..3) %}{{ i }}{% endfor %}', '123'],
    ['{% for i in (3..1) %}{{ i }}{% endfor %}', ''],
    ['{% for i in (1..changes.size) reversed %}{{ i }}{% endfor %}', '321'],
    ['{% for change in changes limit: 1 %}{{ change.kind }}{% endfor %}', 'feature'],
    ['{% assign fixes = changes | where: "kind", "fix" %}{{ fixes.size }}', '1'],
    ['{{ changes | map: "title" | sort | join: ", " }}', 'Dark mode, Faster *search*, No more crashes'],
    ['{{ changes | map: "parts.area" | uniq | join: "+" }}', 'web+api'],
    [
      '{% assign kinds = changes | group_by: "kind" %}{% for kind in kinds %}{{ kind.name }}:{{ kind.items.size }} {% endfor %}',
      'feature:2 fix:1 ',
    ],
    [
      '{{ changes.first.title }} {{ changes[1].kind }} {{ changes.last.kind }}',
      'Faster *search* fix feature',
    ],
    ['[{{ none.first.title }}{{ none[0] }}{{ changes[9].title }}]', '[]'],
    ['{{ release.labels }} {{ release.labels.size }}', 'apiweb 2'],
    ['{{ release.notes | default: release.name | upcase }}', 'SPRING'],
    ['{{ "<b>" | escape }} {{ "a b&c" | url_encode }}', '&lt;b&gt; a+b%26c'],
    ['{% if release.name contains "ring" and not release.notes %}yes{% endif %}', 'yes'],
    ['{% case changes.size %}{% when 1, 2 %}few{% when 3 %}three{% else %}many{% endcase %}', 'three'],
    ['{% case release.name %}{% when "Autumn" %}a{% else %}other{% endcase %}', 'other'],
    ['{% unless release.notes %}none{% endunless %}', 'none'],
    ['{% cycle "a", "b" %}{% cycle "a", "b" %}{% cycle "a", "b" %}', 'aba'],
    ['{% capture both %}{{ release.name }} {{ release.tag }}{% endcapture %}{{ both | size }}', '13'],
    ['{% raw %}{{ release.name }}{% endraw %}', '{{ release.name }}'],
    ['{% comment %}{{ release.name }}{% endcomment %}{%# neither %}', ''],
    ['{% liquid\n assign x = release.name\n echo x\n%}', 'Spring'],
    ['{% for i in (1..5) %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}', '12'],
    ['a\n  {%- if true -%}  \nb{% endif %}', 'a\nb'],
  ])('%s', (source, expected) => {
    expect(render(source)).toBe(expected);
    expect(checkTemplate('body', source, variables)).toBeUndefined();
  });

  test('an empty text is true in Liquid, and blank as null is', () => {
    const truths = [null, '', '  ', 'x'].map((value) =>
      render(
        '{% if value %}true{% else %}false{% endif %} {% if value != blank %}there{% else %}blank{% endif %}',
        {
          value,
        },
      ),
    );
    expect(truths).toEqual(['false blank', 'true blank', 'true blank', 'true there']);
  });

  test('a name that a branch not taken would have assigned is empty', () => {
    expect(render('{% if release.notes %}{% assign label = "x" %}{% endif %}[{{ label }}]')).toBe('[]');
  });
});

describe('our own filters', () => {
  test.each([
    ['%B %-d, %Y', 'March 5, 2026'],
    ['%Y-%m-%dT%H:%M:%SZ', '2026-03-05T23:30:07Z'],
    ['%a %A %b %e %y', 'Thu Thursday Mar  5 26'],
    ['%I:%M %p, %-l %^a', '11:30 PM, 11 THU'],
    ['%a %A %b %e %j %y', 'Thu Thursday Mar  5 064 26'],
    ['%F %T %u %s %z %Z %% %Q %', '2026-03-05 23:30:07 4 1772753407 +0000 UTC % %Q %'],
    ['%P %^b %_m %0e', 'pm MAR  3 05'],
  ])('date: %p', (format, expected) => {
    expect(render('{{ release.publishedAt | date: format }}', { format })).toBe(expected);
  });

  test('a date is the same wherever the server stands', () => {
    const zone = process.env.TZ;
    try {
      const texts = ['Pacific/Kiritimati', 'America/New_York', 'Asia/Kathmandu'].map((name) => {
        process.env.TZ = name;
        // New York skips the hour from 02:00 in that night.
        return render('{{ "2026-03-08T02:30:00Z" | date: "%A %H:%M" }} {{ "2026-01-01" | date: "%B %-d" }}');
      });
      expect(new Set(texts)).toEqual(new Set(['Sunday 02:30 January 1']));
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });

  test.each([
    [null, ''],
    ['soon', 'soon'],
    ['2026-02-30', '2026-02-30'],
    ['', ''],
  ])('no time: %p', (value, expected) => {
    expect(render('{{ value | date: "%Y" }}', { value })).toBe(expected);
  });

  test.each([
    ['hello brave new world', 50, 'hello brave new world'],
    ['hello brave new world', 21, 'hello brave new world'],
    ['hello brave new world', 20, 'hello brave new…'],
    ['hello brave new world', 14, 'hello brave…'],
    ['hello brave new world', 12, 'hello brave…'],
    ['hello\n brave', 20, 'hello brave'],
    ['unbreakable', 5, 'unbr…'],
    ['👩👩👩👩', 4, '👩…'],
    [null, 5, ''],
    ['abc', 1, '…'],
  ])('%p | cut: %d', (value, length, expected) => {
    expect(render('{{ value | cut: length }}', { value, length })).toBe(expected);
  });

  test('md and plain', () => {
    const value = '**a** <b>_c_</b> [d](https://example.com)';
    expect(render('{{ value | md }}', { value })).toBe(inlineMarkdown(value));
    expect(render('{{ value | plain }}', { value })).toBe(toPlainText(value));
    expect(render('[{{ value | md }}{{ value | plain }}{{ nil | md }}]', { value: null })).toBe('[]');
  });
});

describe('a template error names the line and column', () => {
  test.each([
    [
      '{{ relase.name }}',
      '1, column 4: there is no variable relase.name. Choose from: release, changes, none, empty.',
    ],
    [
      'a\r\né {{ release.nmae }}',
      '2, column 6: there is no variable release.nmae. Choose from: release.name, release.tag, release.notes, release.publishedAt, release.author, release.labels.',
    ],
    [
      '{{ changes.title }}',
      '1, column 4: there is no variable changes.title. Choose from: changes.first, changes.last, changes.size.',
    ],
    [
      '{% for change in changes %}{{ change.titel }}{% endfor %}',
      '1, column 31: there is no variable change.titel. Choose from: change.title, change.kind, change.breaking, change.parts.',
    ],
    [
      '{% for i in (1..chnges.size) %}{% endfor %}',
      '1, column 17: there is no variable chnges.size. Choose from: release, changes, none, empty.',
    ],
    [
      '{% assign x = "a" | append: relese.tag %}',
      '1, column 29: there is no variable relese.tag. Choose from: release, changes, none, empty, x.',
    ],
    [
      '{% case 1 %}{% when 2 %}{{ nope }}{% endcase %}',
      '1, column 28: there is no variable nope. Choose from: release, changes, none, empty.',
    ],
    [
      '{% if false %}{{ forloop.index }}{% endif %}',
      '1, column 18: there is no variable forloop.index. Choose from: release, changes, none, empty.',
    ],
    [
      '{% if release.notes %}{{ release.name.title }}{% endif %}',
      '1, column 26: there is no variable release.name.title. Choose from: release.name.size.',
    ],
    [
      '{% for change in changes %}{% if false %}{{ change.brakeing }}{% endif %}{% endfor %}',
      '1, column 45: there is no variable change.brakeing. Choose from: change.title, change.kind, change.breaking, change.parts.',
    ],
    [
      '{% for label in release.labels %}{% unless label %}{{ label.name }}{% endunless %}{% endfor %}',
      '1, column 55: there is no variable label.name. Choose from: label.size.',
    ],
  ])('an unknown variable, in branches that are not taken too: %s', (source, expected) => {
    expect(messageOf(() => checkTemplate('body', source, variables))).toBe(`body template, line ${expected}`);
  });

  test.each([
    '{% assign a = release.name %}{% capture b %}{{ a }}{% endcapture %}{{ b }}{% increment c %}{{ c }}',
    '{% if false %}{{ late }}{% endif %}{% assign late = 1 %}',
    '{% for pair in release %}{{ pair[0] }}{{ pair.first }}{% endfor %}',
    '{{ release.labels.size }}{{ release.name.size }}{{ release.size }}{{ release.labels.length }}',
    '{{ release.author.login }}{% for thing in none %}{{ thing.anything }}{% endfor %}',
    '{% assign fixes = changes | where: "kind", "fix" %}{% for fix in fixes %}{{ fix.title }}{% endfor %}',
    '{% for a in changes %}{% for b in changes %}{{ a.title }}{{ b.parts.area }}{% endfor %}{% endfor %}',
    '{{ changes[7].title }}{{ changes.first.parts.area }}{{ changes[release.tag].anything }}',
  ])('%s is right', (source) => {
    expect(checkTemplate('body', source, variables)).toBeUndefined();
  });

  test.each([
    // Filters
    ['\n{{ release.name | upcas }}', '2, column 1: undefined filter: upcas; similar filters: upcase'],
    [
      '{{ release.name | zzz }}',
      '1, column 1: undefined filter: zzz; liquidjs.com/filters lists the filters',
    ],
    [
      '{% if release.notes %}{{ "a" | constructor }}{% endif %}',
      '1, column 23: undefined filter: constructor',
    ],
    ['{{ release.name | cut }}', '1, column 1: cut needs a number of characters, such as cut: 120'],
    ['{{ release.name | cut: 0 }}', '1, column 1: cut needs a number of characters, such as cut: 120'],
    ['{{ release | md }}', "1, column 1: an object can't be written; choose one of its properties"],
    ['{{ release }}', "1, column 1: an object can't be written; choose one of its properties"],
    ['{{ changes }}', "1, column 1: an object can't be written; choose one of its properties"],
    ['a {{ 1 | divided_by: 0 }}', '1, column 3: the result of divided_by is not a number'],
    ['{{ "a" | append }}', '1, column 1: append expect 2 arguments'],
    // Tags
    ['{% iff true %}', '1, column 1: tag "iff" not found'],
    ['{% include "a" %}', '1, column 1: tag "include" not found'],
    ['{% if release.notes %}{% render "a" %}{% endif %}', '1, column 23: tag "render" not found'],
    ['{% layout "/etc/passwd" %}', '1, column 1: tag "layout" not found'],
    ['{% block a %}{% endblock %}', '1, column 1: tag "block" not found'],
    ['a\n{% if true %}\n{% if true %}{% endif %}', '2, column 1: tag {% if true %} not closed'],
    ['\n{% for a in none %}\n{% endif %}', '3, column 1: tag "endif" not found'],
    // Syntax
    ['a\n {{ release.name', '2, column 2: output "{{ release.name" not closed'],
    ['{{ "a }}', '1, column 1: output "{{ \\"a }}" not closed'],
    ['{% if true', '1, column 1: tag "{% if true" not closed'],
    ['{{ }}', '1, column 4: invalid value expression: ""'],
    ['{% if release.name = "a" %}{% endif %}', '1, column 21: expected "|" before filter'],
    ['{% assign x 3 %}', '1, column 13: expected "="'],
    ['{% for changes %}{% endfor %}', '1, column 1: illegal tag: {% for changes %}'],
    ['{% for i in (1..1.5) %}{% endfor %}', '1, column 1: a range needs two whole numbers, such as (1..3)'],
    [
      '{% for i in (1..release.name) %}{% endfor %}',
      '1, column 1: a range needs two whole numbers, such as (1..3)',
    ],
  ])('%s', (source, expected) => {
    const message = `body template, line ${expected}`;
    expect(messageOf(() => render(source))).toStartWith(message);
    expect(messageOf(() => checkTemplate('body', source, variables))).toStartWith(message);
  });

  test('it is an answer for the one who wrote it', () => {
    const error = new TemplateError('body template: it is wrong');
    expect(error).toBeInstanceOf(AppError);
    expect(error.status).toBe(400);
  });

  test('the name is the one given', () => {
    expect(messageOf(() => renderTemplate('title', '{{', {}))).toStartWith(
      'title template, line 1, column 1: ',
    );
  });
});

describe('bounds', () => {
  const big = 'x'.repeat(200_000);

  const tooMuch = 'it uses too much memory';
  test.each([
    ['long source', repeat('x', 20_001), ': it has more than 20,000 characters; shorten it'],
    ['nested blocks', repeat('{%if 1%}', 2400), 'not closed'],
    ['brackets in brackets', `{{ ${repeat('a[', 9000)} }}`, ', line 1, column '],
    ['parentheses', `{{ ${repeat('(', 19_000)} }}`, ', line 1, column 1: it is nested too deeply'],
    [
      'loops in loops',
      '{% for i in (1..99999) %}{% for j in (1..99999) %}{% endfor %}{% endfor %}',
      ', line 1, column 26: it takes longer than 500 milliseconds',
    ],
    ['a long range', 'a{% for i in (1..1000000000) %}{% endfor %}', `, line 1, column 2: ${tooMuch}`],
    [
      'a range that cannot count',
      '{% assign a = (9007199254740992..9007199254740994) %}',
      ', line 1, column 1: a range needs two whole numbers',
    ],
    [
      'a range in a path',
      '{{ changes | where: "a[(9007199254740992..9007199254740994)]" }}',
      ', line 1, column 1: a range needs two whole numbers',
    ],
    ['appending', `{% assign x = "1234567890" %}${repeat('{% assign x = x | append: x %}', 40)}`, tooMuch],
    [
      'capturing',
      `{% assign x = "1234567890" %}${repeat('{% capture x %}{{x}}{{x}}{% endcapture %}', 40)}`,
      'it writes more than 1,000,000 characters',
    ],
    ['writing', repeat('{{ big }}', 6), ', line 1, column 46: it writes more than 1,000,000 characters'],
    [
      'writing in a loop',
      `{% for i in (1..99999) %}${repeat('x', 19_000)}{% endfor %}`,
      'it writes more than 1,000,000 characters',
    ],
    [
      'a list in itself',
      `{% assign x = none %}${repeat('{% assign x = x | push: x %}', 40)}{{ x }}`,
      /it (uses too much|takes longer)/,
    ],
    [
      'a list twice itself',
      `{% assign x = changes %}${repeat('{% assign x = x | concat: x %}', 40)}`,
      /it (uses too much|takes longer)/,
    ],
    [
      'a list of long texts',
      `{% assign x = big | split: "," %}${repeat('{% assign x = x | concat: x %}', 10)}`,
      tooMuch,
    ],
    ['work', `{{ big ${repeat('| upcase ', 200)} }}`, tooMuch],
    [
      'a long search backwards',
      '{% assign half = big | slice: 0, 100000 %}{{ big | remove_last: half }}',
      tooMuch,
    ],
  ])('%s', (_, source, expected) => {
    expect(messageOf(() => render(source, { big }))).toMatch(expected);
  });

  test('as much as is allowed is allowed', () => {
    expect(render(repeat('{{ big }}', 5), { big })).toHaveLength(1_000_000);
    expect(render(repeat('x', 20_000))).toHaveLength(20_000);
    expect(render(`${repeat('{%if 1%}', 50)}x${repeat('{%endif%}', 50)}`)).toBe('x');
  });

  test('an error or a render changes nothing for the next', () => {
    for (let index = 0; index < 3; index++) expect(render('{% increment n %}{{ n }}')).toBe('01');
    expect(messageOf(() => render('{{ x'))).toBe(messageOf(() => render('{{ x')));
  });
});

describe('nothing but the variables can be read', () => {
  test.each([
    'constructor',
    '__proto__',
    'toString',
    'release.constructor',
    'release.constructor.constructor',
    'release.__proto__',
    'release["__proto__"]',
    'release.name.constructor',
    'changes.constructor',
    'changes.push',
    'changes.first.hasOwnProperty',
    'globalThis',
    'process.env',
  ])('{{ %s }}', (path) => {
    expect(messageOf(() => checkTemplate('body', `{{ ${path} }}`, variables))).toStartWith(
      'body template, line 1, column 4: there is no variable ',
    );
    expect(render(`[{{ ${path} }}]`)).toBe('[]');
  });

  test('neither through keys that are read, nor through filters', () => {
    expect(render('{% assign k = "constructor" %}[{{ release[k] }}]')).toBe('[]');
    expect(render('[{{ changes | map: "constructor" | join }}{{ changes | map: "__proto__" | join }}]')).toBe(
      '[    ]',
    );
    expect(render('{{ changes | group_by: "kind" | map: "constructor" | compact | size }}')).toBe('0');
  });

  test('names that JavaScript has are names like others', () => {
    expect(
      render('{% assign __proto__ = "a" %}{% assign toString = "b" %}{{ __proto__ }}{{ toString }}'),
    ).toBe('ab');
    expect(({} as Record<string, unknown>).a).toBeUndefined();
  });
});

describe('the same variables give the same text', () => {
  test('the time of rendering and chance are not there', () => {
    expect(render('{{ "now" | date: "%Y" }}')).toBe('now');
    for (const filter of ['sample', 'date_to_string']) {
      expect(messageOf(() => render(`{{ changes | ${filter} }}`))).toContain(`undefined filter: ${filter}`);
    }
  });

  test('a render changes nothing for the next, nor its variables', () => {
    const given = structuredClone(variables);
    const source =
      '{% increment release %}{% decrement changes %}{% cycle "a", "b" %}{% assign none = 1 %}{% for i in (1..4) limit: 2 offset: continue %}{{ i }}{% endfor %}';
    expect([renderTemplate('body', source, given), renderTemplate('body', source, given)]).toEqual([
      '0-1a12',
      '0-1a12',
    ]);
    expect(given).toEqual(variables);
  });
});

describe('text from outside', () => {
  const hostile = [
    '{{ release.name }}',
    '{% include "a" %}',
    '{%',
    '{{',
    '}}',
    '%}',
    '{% raw %}',
    '-%}',
    '| upcase',
    '"',
    "'",
    '\\',
    '<script>',
    '\u0000',
    '\u202e',
    '\ud83d\ude00',
    'é',
    '\n',
    '$&',
    '$1',
  ];

  test('is written as it is', () => {
    const anyText = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.array(fc.constantFrom(...hostile)).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(anyText, (value) => {
        expect(
          render(
            '[{{ value }}]{% assign a = value %}{% capture b %}{{ a }}{% endcapture %}{{ b | replace: "~~", value }}',
            { value },
          ),
        ).toBe(`[${value}]${value.replaceAll('~~', () => value)}`);
      }),
    );
  });

  test('half of a character becomes the sign for one that is unknown', () => {
    expect(render('{{ value }}', { value: 'a\ud83d' })).toBe('a\ufffd');
    expect(render('{{ value | first }} {{ value | url_encode }}', { value: '\ud83d\ude00' })).toBe(
      '\ufffd %F0%9F%98%80',
    );
  });

  test.each([
    ['truncate: 3', '👩👩👩👩', '...'],
    ['slice: 1', 'a👩b', '👩'],
    ['size', 'שלום', '4'],
    ['upcase', 'straße', 'STRASSE'],
    ['capitalize', 'émile', 'Émile'],
    ['strip', ' \u00a0\u3000a ', 'a'],
  ])('| %s', (filter, value, expected) => {
    expect(render(`{{ value | ${filter} }}`, { value })).toBe(expected);
  });

  // A filter that takes the square of the length would take minutes for these together.
  test.each(['<!--', '<', '<script', ' ', ' \n', '\r', '&', 'ab', '-', '{{', '> ', '`', '\ud83d', 'é1'])(
    'every filter takes 200,000 characters of %p',
    (part) => {
      const value = part.repeat(200_000 / part.length);
      const filters = [
        'escape',
        'escape_once',
        'strip_html',
        'newline_to_br',
        'strip',
        'lstrip',
        'rstrip: " "',
        'squish',
        'normalize_whitespace',
        'strip_newlines',
        'slugify',
        'truncatewords: 5',
        'number_of_words',
        'replace: "a", "b"',
        'split: "ba"',
        'capitalize',
        'cut: 100000',
        'date: "%Y"',
        'plain',
        'md',
      ];
      for (const filter of filters)
        expect(render(`{{ value | ${filter} | size }}`, { value })).toMatch(/^\d+$/);
      expect(
        render('{% if value == blank or value contains "zz" %}{% endif %}', { value: `${value}.` }),
      ).toBe('');
    },
  );
});

test('any template ends in a text or a TemplateError', () => {
  const pieces = [
    '{{',
    '}}',
    '{%',
    '%}',
    '-',
    ' ',
    '\n',
    '|',
    ':',
    ',',
    '.',
    '..',
    '(',
    ')',
    '[',
    ']',
    '"',
    "'",
    '=',
    '==',
    'if',
    'endif',
    'for',
    'in',
    'endfor',
    'assign',
    'case',
    'when',
    'endcase',
    'else',
    'elsif',
    'capture',
    'endcapture',
    'cycle',
    'liquid',
    'echo',
    'raw',
    'endraw',
    '#',
    'not',
    'and',
    'contains',
    'release',
    'changes',
    'name',
    'x',
    '1',
    '-5',
    '1.5',
    'nil',
    'empty',
    'blank',
    'forloop',
    'where',
    'map',
    'sort',
    'first',
    'join',
    'split',
    'date',
    'cut',
    'md',
    'default',
    'limit',
    'offset',
    '__proto__',
    'constructor',
    '{% if release.name %}',
    '{% for x in changes %}',
    '{{ x | ',
    ' }}',
  ];
  const anyTemplate = fc.array(fc.constantFrom(...pieces), { maxLength: 25 }).map((parts) => parts.join(' '));
  fc.assert(
    fc.property(anyTemplate, (source) => {
      for (const run of [() => render(source), () => checkTemplate('body', source, variables)]) {
        try {
          run();
        } catch (error) {
          expect(error).toBeInstanceOf(TemplateError);
          expect((error as TemplateError).message).not.toMatch(/undefined is not|is not a function/);
        }
      }
    }),
    { numRuns: 3000 },
  );
});

describe('a title', () => {
  test.each([
    ['  {{ release.name }}\n\n is\there ', 'Spring is here'],
    ['{% for i in (1..300) %}ab {% endfor %}', `${'ab '.repeat(166)}a…`],
    ['a\u0000b \u202etxt.exe\u2066 \ud800 שלום', 'ab txt.exe \ufffd שלום'],
  ])('%p is one harmless line of at most 500 characters', (source, expected) => {
    expect(renderTitle(source, variables)).toBe(expected);
  });

  test.each(['', ' \n ', '{{ release.notes }}', '{% if false %}x{% endif %}'])('%p is empty', (source) => {
    expect(messageOf(() => renderTitle(source, variables))).toBe(
      'title template: the title is empty; add fixed text, or a fallback with | default:',
    );
  });

  test('its errors name it', () => {
    expect(messageOf(() => renderTitle('{{ a', variables))).toStartWith(
      'title template, line 1, column 1: output "{{ a" not closed',
    );
  });
});

describe('a body', () => {
  test.each([
    ['\n\n\na\n\n\n\nb\n\nc\nd\n\n\n', 'a\n\nb\n\nc\nd'],
    ['a\r\n\r\n\r\n\r\nb', 'a\n\nb'],
    ['a\n  \n\t\n\u00a0\nb', 'a\n\nb'],
    [
      '{% for change in changes %}\n{% if change.breaking %}\n\n- {{ change.breaking }}\n\n{% endif %}\n{% endfor %}end',
      '- Ports moved\n\nend',
    ],
    ['a\n\n\n```js\nx\n\n\n\ny\n```\n\n\n\nb', 'a\n\n```js\nx\n\n\n\ny\n```\n\nb'],
    ['~~~\n```\n\n\n\n~~~\n\n\n\nb', '~~~\n```\n\n\n\n~~~\n\nb'],
    ['````\n```\n\n\n\n`````\n\n\n\nb', '````\n```\n\n\n\n`````\n\nb'],
    [
      '- a\n\n  ```\n  x\n\n\n\n  ```\n\n\n\n1. ```\n\n\n\n   ```\n\n\n\nb',
      '- a\n\n  ```\n  x\n\n\n\n  ```\n\n1. ```\n\n\n\n   ```\n\nb',
    ],
    ['> ```\n> x\n\n\n\n> ```\n\n\n\nb', '> ```\n> x\n\n\n\n> ```\n\nb'],
    ['``` not `code\n\n\n\nb', '``` not `code\n\nb'],
    ['``\n\n\n\nb', '``\n\nb'],
    ['```\nx\n``` y\n\n\n\nb', '```\nx\n``` y\n\n\n\nb'],
  ])('%p has no needless empty lines', (source, expected) => {
    expect(renderBody(source, variables)).toBe(expected);
  });

  test('the notes of a release, of any length', () => {
    const notes = `a\n\n\n\`\`\`\n${'\n'.repeat(200_000)}x\n\`\`\`${'\n'.repeat(200_000)}b${' '.repeat(200_000)}`;
    expect(renderBody('{{ notes }}', { notes })).toBe(`a\n\n\`\`\`\n${'\n'.repeat(200_000)}x\n\`\`\`\n\nb`);
  });

  test('it may be empty', () => {
    expect(renderBody('{{ release.notes }}', variables)).toBe('');
  });
});

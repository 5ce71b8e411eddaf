import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  checkTemplate,
  renderBody,
  renderTemplate,
  renderTitle,
  TemplateError,
} from '../../src/drafts/template.ts';
import { AppError } from '../../src/lib/app-error.ts';
import { inlineMarkdown, toPlainText } from '../../src/markdown/plain-text.ts';

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

/** The clock of the time limit stands still: what ends a template here is counted. */
function render(source: string, more: Record<string, unknown> = {}, now = () => 0): string {
  return renderTemplate('body', source, { ...variables, ...more }, now);
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

describe('what a template gives', () => {
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
    ['%a %A %b %e %j %y', 'Thu Thursday Mar  5 064 26'],
    ['%I:%M %p, %-l %P', '11:30 PM, 11 pm'],
    ['%F %T %u %s %z %Z %%', '2026-03-05 23:30:07 4 1772753407 +0000 UTC %'],
    ['%^b %_m %0e %', 'MAR  3 05 %'],
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

describe('what is wrong with a template is said with its place', () => {
  test.each([
    // Variables
    ['{{ relase.name }}', '1, column 4: there is no variable relase.name. Did you mean release.name?'],
    [
      'a\r\né😀 {{ release.nmae }}',
      '2, column 7: there is no variable release.nmae. Did you mean release.name?',
    ],
    ['{{ release["nam"] }}', '1, column 4: there is no variable release["nam"]. Did you mean release.name?'],
    [
      '{{ release.wording }}',
      '1, column 4: there is no variable release.wording. There is release.name, release.tag, release.notes, release.publishedAt, release.author, release.labels.',
    ],
    [
      '{{ nothing.like }}',
      '1, column 4: there is no variable nothing.like. There is release, changes, none, empty.',
    ],
    [
      '{{ changes.title }}',
      '1, column 4: there is no variable changes.title. changes is a list: go over it with for.',
    ],
    [
      '{% for change in changes %}{{ change.titel }}{% endfor %}',
      '1, column 31: there is no variable change.titel. Did you mean change.title?',
    ],
    [
      '{% for change in changes %}{{ forloop.indx }}{% endfor %}',
      '1, column 31: there is no variable forloop.indx. Did you mean forloop.index?',
    ],
    [
      '{% for i in (1..chnges.size) %}{% endfor %}',
      '1, column 17: there is no variable chnges.size. Did you mean changes.size?',
    ],
    [
      '{% assign x = "a" | append: relese.tag %}',
      '1, column 29: there is no variable relese.tag. Did you mean release.tag?',
    ],
    [
      '{% liquid\n echo release.nam %}',
      '2, column 7: there is no variable release.nam. Did you mean release.name?',
    ],
    // Filters
    ['{{ release.name | upcas }}', '1, column 19: there is no filter upcas. Did you mean upcase?'],
    ['{% assign x = release.name | lenght %}', '1, column 30: there is no filter lenght.'],
    ['{% cycle "a" | upcas, "b" %}', '1, column 16: there is no filter upcas. Did you mean upcase?'],
    [
      '{% if release.notes %}{{ "a" | constructor }}{% endif %}',
      '1, column 32: there is no filter constructor.',
    ],
    [
      '{{ release.name | cut }}',
      '1, column 19: the filter cut needs the most characters that there may be, as in cut: 120',
    ],
    [
      '{{ release.name | cut: 0 }}',
      '1, column 19: the filter cut needs the most characters that there may be, as in cut: 120',
    ],
    ['{{ release | md }}', '1, column 14: the filter md needs a text: name one of its parts'],
    [
      '{{ release.labels | plain }}',
      '1, column 21: the filter plain needs a text: use it on each thing of the list',
    ],
    [
      '{{ release.publishedAt | date }}',
      '1, column 26: the filter date needs a format, as in date: "%B %-d, %Y"',
    ],
    [
      '{{ release.publishedAt | date: "%Q" }}',
      '1, column 26: the filter date does not know %Q; it knows %Y %y %m %B %b %d %e %j %A %a %u %H %I %l %M %S %p %P %F %T %s %z %Z %%',
    ],
    [
      `{{ release.publishedAt | date: "${'%d'.repeat(51)}" }}`,
      '1, column 26: the format of the filter date may have at most 100 characters',
    ],
    [
      '{{ changes | where: "kynd", "fix" }}',
      '1, column 14: the filter where finds no kynd in what it is given',
    ],
    [
      '{{ changes | map: "a[(1..3)]" }}',
      '1, column 14: the filter map needs the name of a part, as in map: "title"',
    ],
    [
      '{{ changes | where }}',
      '1, column 14: the filter where needs the name of a part, as in where: "title"',
    ],
    [
      '{{ 1 | divided_by: 0 }}',
      '1, column 8: the filter divided_by gives no number here: see what it is given',
    ],
    [
      '{{ "a" | append }}',
      '1, column 10: the filter append does not work on what it is given (append expect 2 arguments)',
    ],
    // Tags
    ['{% iff true %}', '1, column 1: there is no tag iff. Did you mean if?'],
    ['{% if true %}{% endfi %}', '1, column 14: there is no tag endfi. Did you mean endif?'],
    ['{% tablerow a in none %}{% endtablerow %}', '1, column 1: there is no tag tablerow.'],
    [
      '{% include "a" %}',
      '1, column 1: the tag include is refused, as templates stand alone: write its text here',
    ],
    [
      '{% if release.notes %}{% render "a" %}{% endif %}',
      '1, column 23: the tag render is refused, as templates stand alone: write its text here',
    ],
    [
      '{% layout "/etc/passwd" %}',
      '1, column 1: the tag layout is refused, as templates stand alone: write its text here',
    ],
    [
      '{% block a %}{% endblock %}',
      '1, column 1: the tag block is refused, as templates stand alone: write its text here',
    ],
    // Blocks that do not fit
    [
      'a\n{% if release.name %}\n{% if true %}{% endif %}',
      '2, column 1: {% if %} is not closed: add {% endif %}',
    ],
    ['\n{% for a in none %}', '2, column 1: {% for %} is not closed: add {% endfor %}'],
    ['{% capture a %}', '1, column 1: {% capture %} is not closed: add {% endcapture %}'],
    ['{% comment %}', '1, column 1: {% comment %} is not closed: add {% endcomment %}'],
    ['\n {% raw %}\n{{ a }}', '2, column 2: {% raw %} is not closed: add {% endraw %}'],
    [
      '\n{% for a in none %}\n{% endif %}',
      '3, column 1: {% endif %} does not belong to {% for %} of line 2: add {% endfor %} before it',
    ],
    ['{% endif %}', '1, column 1: {% endif %} has no {% if %} before it'],
    ['{% elsif true %}', '1, column 1: {% elsif %} has no {% if %} or {% unless %} before it'],
    ['{% if true %}{% else %}{% else %}{% endif %}', '1, column 1: there can be only one else'],
    ['{% if true %}{% else %}{% elsif true %}{% endif %}', '1, column 1: elsif comes before else'],
    [
      '{% if true %}{% endif true %}',
      '1, column 1: else and end tags stand alone: leave out what follows their name',
    ],
    // Syntax
    ['a\n {{ release.name', '2, column 2: {{ is not closed: end it with }}, and close every quote in it'],
    ['{{ "a }}', '1, column 1: {{ is not closed: end it with }}, and close every quote in it'],
    ['{% if true', '1, column 1: {% is not closed: end it with %}'],
    ['{{ }}', '1, column 4: a value is missing here, such as a variable'],
    ['{% if %}{% endif %}', '1, column 6: a value is missing here, such as a variable'],
    ['{% if release.name and %}{% endif %}', '1, column 20: a value is missing next to and'],
    ['{{ release.name release.tag }}', '1, column 17: two values stand here with nothing between them'],
    ['{% if release.name = "a" %}{% endif %}', '1, column 21: = is not understood here: write =='],
    ['{% if release.name && true %}{% endif %}', '1, column 21: && is not understood here: write and'],
    [
      '{% if release.name || true %}{% endif %}',
      '1, column 21: the name of a filter is missing after |, or write or between two conditions',
    ],
    [
      '{{ release.name | cut 5 }}',
      '1, column 23: after the name of a filter comes a colon, as in | cut: 120',
    ],
    [
      '{{ "a" | replace: "a" "b" }}',
      '1, column 23: the values of a filter are separated by commas, as in | replace: "a", "b"',
    ],
    ['{{ (1 + 2) }}', '1, column 7: round brackets are only for ranges, such as (1..3)'],
    ['{{ release[ }}', '1, column 12: [ is not closed: end it with ]'],
    ['{% assign x 3 %}', '1, column 13: assign is written as {% assign name = value %}'],
    ['{% for changes %}{% endfor %}', '1, column 1: for is written as {% for change in changes %}'],
    ['{% capture %}{% endcapture %}', '1, column 11: capture is written as {% capture name %}'],
    ['{% cycle %}', '1, column 9: cycle needs values, as in {% cycle "odd", "even" %}'],
    ['{% %}', '1, column 4: a tag needs a name, as in {% if release.name %}'],
    ['{%# a\nb %}', '1, column 1: every line of a {% # comment %} begins with #'],
    // Values
    [
      '{{ release }}',
      '1, column 1: this is no text but something with parts: name the part, as in {{ release.name }}',
    ],
    [
      '{{ changes }}',
      '1, column 1: this is no text but something with parts: name the part, as in {{ release.name }}',
    ],
    [
      '{% for i in (1..1.5) %}{% endfor %}',
      '1, column 13: a range goes from one whole number to another, such as (1..3)',
    ],
    [
      '{% for i in (1..release.name) %}{% endfor %}',
      '1, column 13: a range goes from one whole number to another, such as (1..3)',
    ],
  ])('%s', (source, expected) => {
    const message = `body template, line ${expected}`;
    expect(messageOf(() => render(source))).toBe(message);
    expect(messageOf(() => checkTemplate('body', source, variables))).toBe(message);
  });

  test('a key that is read from a variable', () => {
    const source = '{% assign key = "nam" %}{{ release[key] }}';
    expect(messageOf(() => render(source))).toBe(
      'body template, line 1, column 28: there is no variable release.nam.',
    );
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

describe('a check finds what rendering would only meet some day', () => {
  test.each([
    [
      '{% if release.notes %}{{ release.nots }}{% endif %}',
      '1, column 26: there is no variable release.nots. Did you mean release.notes?',
    ],
    [
      '{% for change in changes %}{% if false %}{{ change.brakeing }}{% endif %}{% endfor %}',
      '1, column 45: there is no variable change.brakeing. Did you mean change.breaking?',
    ],
    [
      '{% for label in release.labels %}{% unless label %}{{ label.name }}{% endunless %}{% endfor %}',
      '1, column 55: there is no variable label.name. There is label.size.',
    ],
    [
      '{% if false %}{{ forloop.index }}{% endif %}',
      '1, column 18: there is no variable forloop.index. There is release, changes, none, empty.',
    ],
    [
      '{% if false %}{{ change.title }}{% endif %}',
      '1, column 18: there is no variable change.title. changes is a list: go over it with for.',
    ],
    ['{{ size }}', '1, column 4: there is no variable size. There is release, changes, none, empty.'],
    [
      '{% case 1 %}{% when 2 %}{{ "a" | append: nope }}{% endcase %}',
      '1, column 42: there is no variable nope. Did you mean none?',
    ],
  ])('%s', (source, expected) => {
    expect(messageOf(() => checkTemplate('body', source, variables))).toBe(`body template, line ${expected}`);
    expect(render(source)).toBeString();
  });

  test.each([
    '{% assign a = release.name %}{% capture b %}{{ a }}{% endcapture %}{{ b }}{% increment c %}{{ c }}',
    '{% if false %}{{ late }}{% endif %}{% assign late = 1 %}',
    '{% for pair in release %}{{ pair[0] }}{{ pair.first }}{% endfor %}',
    '{{ release.labels.size }}{{ release.name.size }}{{ release.size }}{{ release.labels.length }}',
    '{{ release.author.login }}{% for thing in none %}{{ thing.anything }}{% endfor %}',
    '{% assign fixes = changes | where: "kind", "fix" %}{% for fix in fixes %}{{ fix.title }}{% endfor %}',
    '{% for a in changes %}{% for b in changes %}{{ a.title }}{{ b.parts.area }}{% endfor %}{% endfor %}',
  ])('%s is right', (source) => {
    expect(checkTemplate('body', source, variables)).toBeUndefined();
  });
});

describe('bounds', () => {
  const big = 'x'.repeat(200_000);

  test.each([
    [
      'long source',
      repeat('x', 20_001),
      ': it has 20,001 characters, and at most 20,000 are allowed: make it shorter',
    ],
    [
      '10,000 nested blocks',
      repeat('{% if true %}', 10_000),
      ': it has 130,000 characters, and at most 20,000 are allowed: make it shorter',
    ],
    [
      'nested blocks',
      repeat('{%if 1%}', 2400),
      ', line 1, column 401: blocks are nested more than 50 deep: take them apart',
    ],
    [
      'nested liquid tags',
      `{% ${repeat('liquid ', 2800)} %}`,
      ', line 1, column 354: blocks are nested more than 50 deep: take them apart',
    ],
    [
      'loops in loops',
      '{% for i in (1..99999) %}{% for j in (1..99999) %}x{% endfor %}{% endfor %}',
      ', line 1, column 26: it takes more than 100,000 steps: loop over fewer things, as with limit: 100',
    ],
    [
      'empty loops',
      '{% for i in (1..99999) %}{% for j in (1..99999) %}{% endfor %}{% endfor %}',
      ', line 1, column 26: it takes more than 100,000 steps: loop over fewer things, as with limit: 100',
    ],
    [
      'comparisons',
      `{% for i in (1..1000) %}{% if ${repeat('i == 0 or ', 1000)} false %}{% endif %}{% endfor %}`,
      ', line 1, column 25: it takes more than 100,000 steps: loop over fewer things, as with limit: 100',
    ],
    [
      'a long range',
      '{% for i in (1..1000000000) %}{% endfor %}',
      ', line 1, column 13: this range has more than 100,000 numbers: make it shorter',
    ],
    [
      'a range that cannot count',
      '{% assign a = (9007199254740992..9007199254740994) %}',
      ', line 1, column 15: a range goes from one whole number to another, such as (1..3)',
    ],
    [
      'appending',
      `{% assign x = "1234567890" %}${repeat('{% assign x = x | append: x %}', 40)}`,
      ', line 1, column 528: the filter append gives more than 1,000,000 characters: use it on shorter texts',
    ],
    [
      'capturing',
      `{% assign x = "1234567890" %}${repeat('{% capture x %}{{x}}{{x}}{% endcapture %}', 40)}`,
      ', line 1, column 706: it gives more than 1,000,000 characters: write less, as with the filter cut',
    ],
    [
      'writing',
      repeat('{{ big }}', 6),
      ', line 1, column 46: it gives more than 1,000,000 characters: write less, as with the filter cut',
    ],
    [
      'a list in itself',
      `{% assign x = none %}${repeat('{% assign x = x | push: x %}', 40)}{{ x }}`,
      ', line 1, column 488: the filter push gives a list of more than 100,000 things: use it on less',
    ],
    [
      'a list twice itself',
      `{% assign x = changes %}${repeat('{% assign x = x | concat: x %}', 40)}`,
      ', line 1, column 403: the filter concat gives a list of more than 100,000 things: use it on less',
    ],
    [
      'a list of groups',
      `{% assign x = changes | group_by: "kind" %}${repeat('{% assign x = x | concat: x | group_by: "name" %}', 40)}`,
      ', line 1, column 601: the filter concat gives a list of more than 100,000 things: use it on less',
    ],
    [
      'a list of long texts',
      `{% assign x = big | split: "," %}${repeat('{% assign x = x | concat: x %}', 10)}`,
      ', line 1, column 172: the filter concat gives a list of more than 5,000,000 characters: use it on less',
    ],
    [
      'letters',
      '{{ big | split: "" }}',
      ', line 1, column 10: the filter split gives a list of more than 100,000 things: use it on less',
    ],
    [
      'work',
      `{{ big ${repeat('| upcase ', 200)} }}`,
      ', line 1, column 460: it makes more than 20,000,000 characters on the way: use fewer filters on long texts',
    ],
    [
      'a long pattern',
      '{{ big | replace: big, "" }}',
      ', line 1, column 10: the text to look for may have at most 1000 characters, not 200000',
    ],
    [
      'a long needle',
      '{% if big contains big %}{% endif %}',
      ', line 1, column 1: the text to look for may have at most 1000 characters, not 200000',
    ],
  ])('%s', (_, source, expected) => {
    expect(messageOf(() => render(source, { big }))).toBe(`body template${expected}`);
  });

  test.each([
    ['brackets', `{{ ${repeat('a[', 9000)} }}`],
    ['closed brackets', `{{ ${repeat('release[', 2000)}1${repeat(']', 2000)} }}`],
    ['parentheses', `{{ ${repeat('(', 19_000)} }}`],
    ['ranges', `{{ ${repeat('(1..', 4900)} }}`],
  ])('nested %s end in an error', (_, source) => {
    expect(messageOf(() => render(source))).toStartWith('body template, line 1, column ');
  });

  test('as much as is allowed is allowed', () => {
    expect(render(repeat('{{ big }}', 5), { big })).toHaveLength(1_000_000);
    expect(render(repeat('x', 20_000))).toHaveLength(20_000);
    expect(render(`${repeat('{%if 1%}', 50)}x${repeat('{%endif%}', 50)}`)).toBe('x');
  });

  test('the work of heavy filters ends too', () => {
    const list = Array.from({ length: 20_000 }, (_, index) => ({ n: `${index % 977}` }));
    const source = `{{ list ${repeat('| sort_natural: "n" | where: "n", "1" | concat: list', 300)} | size }}`;
    // Time passes here, or the test would wait for all of the work that is allowed.
    const message = messageOf(() => render(source, { list }, () => performance.now()));
    expect(message).toMatch(/more than 20,000,000|longer than 500 milliseconds/);
  });

  test('a render ends after 500 milliseconds', () => {
    const taking = (ms: number) => {
      let time = 0;
      return () => {
        const now = time;
        time = ms;
        return now;
      };
    };
    expect(render('{{ release.name }}', {}, taking(500))).toBe('Spring');
    expect(messageOf(() => render('{{ release.name }}', {}, taking(501)))).toContain(
      'it takes longer than 500 milliseconds: loop over fewer things, or use fewer filters',
    );
  });

  test('what is kept compiled has no memory of its errors or of its renders', () => {
    for (let index = 0; index < 450; index++)
      expect(render(`${index % 225}: {% increment n %}{{ n }}`)).toBe(`${index % 225}: 01`);
    expect(messageOf(() => render('{{ x }}'))).toBe(messageOf(() => render('{{ x }}')));
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
    expect(messageOf(() => render(`{{ ${path} }}`))).toStartWith(
      `body template, line 1, column 4: there is no variable ${path}. `,
    );
  });

  test('neither through keys that are read, nor through filters', () => {
    expect(messageOf(() => render('{% assign k = "constructor" %}{{ release[k] }}'))).toContain(
      'no variable release.constructor',
    );
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
  test.each(['now', 'today', 'NOW'])('the time of rendering is refused: %s', (word) => {
    expect(messageOf(() => render(`{{ "${word}" | date: "%Y" }}`))).toBe(
      `body template, line 1, column ${word.length + 9}: the filter date does not know ${word}, so that a draft is always the same: use a variable of what was shipped`,
    );
  });

  test.each([
    'sample',
    'shuffle',
    'date_to_string',
    'date_to_rfc822',
    'date_to_xmlschema',
    'date_to_long_string',
  ])('there is no filter %s', (name) => {
    expect(messageOf(() => render(`{{ changes | ${name} }}`))).toStartWith(
      `body template, line 1, column 14: there is no filter ${name}.`,
    );
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
        'remove_last: "x"',
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

test('whatever is written in a template ends in a text or a TemplateError', () => {
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
          expect((error as TemplateError).message).not.toMatch(
            /it cannot be rendered|is not understood: |undefined is not/,
          );
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
      'title template: the title comes out empty; add words of your own, or | default: with something that is never empty',
    );
  });

  test('its errors name it', () => {
    expect(messageOf(() => renderTitle('{{ a', variables))).toStartWith(
      'title template, line 1, column 1: {{ is not closed',
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

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseChangelog } from '../../src/posts/import/changelog.ts';
import { lostLines } from '../support/changelog-lines.ts';
import { rounds } from '../support/rounds.ts';

// Each line of a changelog is in exactly one post, or below a heading that the summary names.

type Write = (words: string) => string;

/** A file writes its versions in one of these forms; `sub` is a heading below them. */
const forms: [write: Write, sub: Write | null][] = [
  [(words) => `# ${words}`, (words) => `## ${words}`],
  [(words) => `## ${words} ##`, (words) => `### ${words}`],
  [(words) => `### ${words}`, (words) => `#### ${words}`],
  [(words) => `#### ${words}`, null],
  [(words) => `${words}\n${'='.repeat(words.length)}`, (words) => `### ${words}`],
  [(words) => `${words}\n---`, (words) => `### ${words}`],
  [(words) => `**${words}**`, null],
  [(words) => words, null],
];

/** The words of a heading around a version. */
const wordings: ((version: string, date: string) => string)[] = [
  (version, date) => `[${version}] - ${date}`,
  (version, date) => `v${version} (${date})`,
  (version, date) => `${version} / ${date}`,
  (version, date) => `Version ${version}, released ${date}`,
  (version, date) => `Release v.${version} — ${date}`,
  (version, date) => `${date}, Version ${version}`,
  (version, date) => `[${version}](https://x.test/${version}) (${date})`,
  (version, date) => `${version} "Winter" (${date})`,
  (version, date) => `🎉 ${version} | ${date}`,
  (version, date) => `@acme/core@${version} (${date})`,
  (version, date) => `${version} → ${date}`,
  (version, date) => `<a name="${version}"></a>${version} (${date})`,
  (version, date) => `Acme **${version}** _(${date})_`,
];

const dates = [
  '2024-01-31',
  '31.01.2024',
  '2024/01/31',
  'January 31st, 2024',
  '31 January, 2024',
  'Wed, Jan 31 2024',
];
const marks = [
  'Unreleased',
  '[Unreleased]',
  'HEAD',
  'Next',
  '99.0.0 (unreleased)',
  '99.1.0 - TBD',
  '99.2.0-SNAPSHOT',
  '99.3.0 (draft)',
];

/** Blocks of text, each line of which begins with its own word. */
const blocks: ((word: () => string) => string)[] = [
  (word) => `${word()} is a paragraph\n${word()} goes on.`,
  (word) => `- ${word()}\n- ${word()}\n  - ${word()} deeper`,
  (word) => `* ${word()} since 1.2.3\n\n  ${word()} second paragraph`,
  (word) => `1. ${word()}\n2. ${word()} 2.0.0`,
  (word) => `\`\`\`md\n${word()}\n## 7.7.7 - 2024-01-01\n${word()}\n\`\`\``,
  (word) => `<!-- ${word()}\n## 6.6.6 - 2024-01-01\n-->`,
  (word) => `> ${word()} 5.5.5\n> ${word()}`,
  (word) => `| ${word()} | b |\n| --- | --- |\n| ${word()} | 4.4.4 |`,
  (word) => `<details>\n<summary>${word()}</summary>\n\n- ${word()}\n\n</details>`,
  (word) => `    ${word()} indented code`,
  (word) => `See [${word()}] and [text][a label].\n\n[a label]: https://x.test/${word()}`,
  (word) => `[unused ${word()}]: https://x.test/u`,
  (word) => `***\n${word()} 3.3.3.`,
];

/** Headings at the level of the versions that are none: they are text. */
const asides = [
  'Next.js',
  'Next steps',
  'Python 3.11 support',
  'Changes since 0.9.0',
  'Mainline',
  '3 things',
  'Added',
  'Draft pages',
];

/** A part of a version below it, where the form has headings below the versions. */
const PART = '@acme/core@7.1.0';

const changelogs = fc
  .record({
    form: fc.constantFrom(...forms),
    wording: fc.constantFrom(...wordings),
    date: fc.constantFrom(...dates),
    head: fc.array(fc.constantFrom(...blocks), { maxLength: 2 }),
    isTitled: fc.boolean(),
    sections: fc.array(
      fc.record({
        mark: fc.option(fc.constantFrom(...marks), { freq: 4 }),
        parts: fc.array(
          fc.oneof(
            fc.constantFrom(...blocks).map((block) => ({ block })),
            fc.constantFrom(...asides, PART).map((aside) => ({ aside })),
          ),
          { maxLength: 4 },
        ),
      }),
      { minLength: 1, maxLength: 6 },
    ),
  })
  .filter(({ sections }) => sections.some(({ mark }) => mark === null))
  .map(({ form: [write, sub], wording, date, head, isTitled, sections }) => {
    let count = 0;
    const word = () => `word${count++}`;
    const lines = isTitled ? ['# Changes'] : [];
    lines.push(...head.map((block) => block(word)));
    let versions = 0;
    for (const [index, { mark, parts }] of sections.entries()) {
      if (mark === null) versions++;
      lines.push(write(mark ?? wording(`${sections.length - index}.2.0`, date)));
      for (const part of parts) {
        if ('block' in part) lines.push(part.block(word));
        else if (part.aside !== PART || sub !== null)
          lines.push((mark === null && sub === null ? String : (sub ?? String))(part.aside));
      }
    }
    return { text: `${lines.join('\n\n')}\n`, versions, marks: sections.length - versions };
  });

test('each line is in exactly one post, or below a heading that the summary names', async () => {
  await fc.assert(
    fc.asyncProperty(changelogs, async ({ text, versions, marks: unreleased }) => {
      const parsed = await parseChangelog({ name: 'CHANGELOG.md', text });
      expect(lostLines(text, parsed)).toEqual([]);
      expect(parsed.problems).toEqual([]);
      expect(parsed.records.length).toBe(versions);
      expect(parsed.records.every(({ fields }) => String(fields.createdAt).startsWith('2024-01-31'))).toBe(
        true,
      );
      expect(parsed.skipped.filter((part) => part.endsWith('not released)')).length).toBe(unreleased);
      expect(parsed.headings).toBe(versions + parsed.skipped.length);
    }),
    { numRuns: rounds(300, 20_000) },
  );
});

test('any lines in any order lose nothing', async () => {
  const line = fc.oneof(
    fc.constantFrom(
      '',
      '',
      '# A',
      '## 1.0.0',
      '## 1.1.0 - 2024-01-01',
      '### 1.2.0 - 2024-02-01',
      '1.3.0\n===',
      '---',
    ),
    fc.constantFrom(
      '- 1.4.0',
      '**1.5.0**',
      '```',
      '<!--',
      '-->',
      '<div>',
      '## Unreleased',
      '# Next',
      '  ## 1.6.0',
      '> a',
    ),
    fc.constantFrom(
      '[a]: https://x.test/a',
      '[a]',
      '1.7.0 / 2024-03-01',
      '## 2024-01-05',
      '## 13',
      '\tx',
      '- b\n\n  c',
    ),
    fc.constantFrom(
      '## Words - 2024-01-06',
      '## 1.8.0 - 2024-02-30',
      '# 1.9.0',
      '2.0.0 is out.',
      '* x',
      '## 2.x',
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 30 }), async (lines) => {
      const text = lines
        .map((each, index) => each.replace(/^(?=[ab\t]|[*] x)/, `${'p'}${index} `))
        .join('\n');
      const parsed = await parseChangelog({ name: 'CHANGELOG.md', text });
      if (parsed.records.length > 0) expect(lostLines(text, parsed)).toEqual([]);
    }),
    { numRuns: rounds(500, 50_000) },
  );
});

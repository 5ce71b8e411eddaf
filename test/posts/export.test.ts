import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { unpackTar } from 'modern-tar';
import { toPlainText } from '../../src/lib/markdown/plain-text.ts';
import { onOneLine } from '../../src/lib/text.ts';
import {
  archiveOf,
  type ExportedFile,
  type ExportFormat,
  type ExportOptions,
  exportFiles,
  exportText,
  readExport,
} from '../../src/posts/export.ts';
import { type ImportOptions, importFile } from '../../src/posts/import/service.ts';
import type { OwnedPost } from '../../src/posts/model.ts';
import { deletePostRow, readPost, writePost } from '../../src/posts/store.ts';
import { rounds } from '../support/rounds.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

const app = await appWithOrganization();
/** Another database, into which the exports are imported. */
const copy = await appWithOrganization();

let organizations = 0;

/** An empty organization in both databases. */
async function newOrganization(): Promise<string> {
  const id = `org_${++organizations}`;
  await app.addOrganization(id);
  await copy.addOrganization(id);
  return id;
}

const plain: OwnedPost = {
  id: 'p',
  organizationId: '',
  title: 'Rocket 2.4: quieter engines',
  content: 'Added\n\n- Quiet mode',
  markdown: '### Added\n\n- Quiet mode\n',
  contentType: 'changelog',
  status: 'published',
  sourceMetadata: { author: 'ann' },
  createdAt: '2026-11-18T09:30:00.000Z',
  updatedAt: '2026-11-18T10:02:11.482Z',
  isDateSet: true,
};

async function store(organizationId: string, posts: readonly Partial<OwnedPost>[]): Promise<void> {
  await app.db.write(async (tx) => {
    for (const post of posts) await writePost(tx, { ...plain, ...post, organizationId });
  });
}

async function textOf(
  from: TestApp,
  organizationId: string,
  format: Exclude<ExportFormat, 'markdown'>,
  options: Partial<ExportOptions> = {},
): Promise<string> {
  const posts = readExport(from.db, format, { organizationId, ...options });
  return (await Array.fromAsync(exportText(posts, format))).join('');
}

const filesOf = (from: TestApp, organizationId: string): Promise<ExportedFile[]> =>
  Array.fromAsync(exportFiles(readExport(from.db, 'markdown', { organizationId })));

function load(into: TestApp, organizationId: string, name: string, text: string) {
  const options: ImportOptions = { organizationId, status: 'published', contentType: 'changelog' };
  // The command line and the dashboard read files like this.
  return importFile(into.deps, { name, text: text.replaceAll(/\r\n?/g, '\n') }, options);
}

const ends = [
  '---',
  '\n---\n',
  '--- \ntitle: x\n---\n',
  '\r\n',
  '\r',
  '\n',
  ' ',
  '\t',
  '\ufeff',
  '\u2028',
  '\u0085',
];
const oddText = [
  ...ends,
  '# Heading',
  '## A - 2026-01-01',
  '```',
  '<!--',
  'é',
  '🚀',
  '\u202e',
  'title: x',
  '- a',
  '\\',
];
const hostileTitles = [
  'true',
  '1.10',
  '0x1f',
  'null',
  '~',
  '- a',
  '# a',
  'a: b',
  '"',
  "'",
  '{}',
  '[a]',
  '&a',
  '*a',
  '|',
  '>',
  '%',
  '@',
  '`',
  '2026-01-01',
  '!!js',
  '<b>',
  '🚀',
  'e\u0301',
  '\ufffe\uffff',
  '<<',
];

const words = (parts: readonly string[]) =>
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.array(fc.constantFrom(...parts, 'word'), { maxLength: 8 }).map((all) => all.join('')),
    },
    fc.string({ unit: 'binary', maxLength: 30 }),
  );
// The database holds no U+0000, which an import refuses.
const text = words(oddText).map((each) => each.replaceAll('\0', ''));
const title = words(hostileTitles).map(
  (each) => each.replaceAll('\0', '').slice(0, 500).toWellFormed().trim() || 'Untitled',
);
const time = fc
  .date({ min: new Date('0000-01-01'), max: new Date('2026-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString());
const metadata = fc.option(
  fc.dictionary(
    fc.string({ unit: 'binary' }).map((key) => key.toWellFormed().replaceAll('\0', '')),
    fc.jsonValue({ maxDepth: 8 }),
    { maxKeys: 4 },
  ),
);

const post = fc
  .record({
    title,
    markdown: text,
    isDerived: fc.boolean(),
    contentType: fc.constantFrom('changelog' as const, 'linkedin_post' as const),
    status: fc.constantFrom('draft' as const, 'published' as const),
    sourceMetadata: metadata.map(
      (value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown> | null,
    ),
    createdAt: time,
    updatedAt: time,
    isDateSet: fc.boolean(),
  })
  .map(({ isDerived, markdown: given, ...fields }) => {
    const markdown = given.toWellFormed();
    return { ...fields, markdown, content: isDerived ? toPlainText(markdown) : `${markdown} ` };
  });

describe('an export of any posts, imported into an empty database, exports as the same bytes', () => {
  const runs = { numRuns: rounds(40, 1500) };
  const given = fc.array(post, { minLength: 1, maxLength: 10 });
  let ids = 0;

  test('JSON Lines', async () => {
    await fc.assert(
      fc.asyncProperty(given, async (posts) => {
        const organizationId = await newOrganization();
        await store(
          organizationId,
          posts.map((each) => ({ ...each, id: `l${++ids}` })),
        );
        const exported = await textOf(app, organizationId, 'jsonl');
        expect(exported.split('\n')).toHaveLength(posts.length + 1);
        await load(copy, organizationId, 'posts.jsonl', exported);
        expect(await textOf(copy, organizationId, 'jsonl')).toBe(exported);
        expect(await textOf(copy, organizationId, 'json')).toBe(await textOf(app, organizationId, 'json'));
      }),
      runs,
    );
  });

  test('Markdown', async () => {
    await fc.assert(
      fc.asyncProperty(given, async (posts) => {
        const organizationId = await newOrganization();
        await store(
          organizationId,
          posts.map((each) => ({ ...each, id: `m${++ids}` })),
        );
        const exported = await filesOf(app, organizationId);
        expect(exported).toHaveLength(posts.length);
        for (const file of exported) await load(copy, organizationId, file.path, file.text);
        expect(await filesOf(copy, organizationId)).toEqual(exported);
        expect(await textOf(copy, organizationId, 'jsonl')).toBe(await textOf(app, organizationId, 'jsonl'));
      }),
      runs,
    );
  });

  test('a changelog keeps titles, days, order and texts', async () => {
    await fc.assert(
      fc.asyncProperty(given, async (posts) => {
        const organizationId = await newOrganization();
        const shared = { status: 'published', contentType: 'changelog' } as const;
        await store(
          organizationId,
          posts.map((each) => ({ ...each, ...shared, id: `c${++ids}` })),
        );
        const exported = await textOf(app, organizationId, 'changelog');
        await load(copy, organizationId, 'CHANGELOG.md', exported);
        expect(await textOf(copy, organizationId, 'changelog')).toBe(exported);
        const read = async (from: TestApp) =>
          (JSON.parse(await textOf(from, organizationId, 'json')) as OwnedPost[]).map((each) => [
            onOneLine(each.title).trim() || 'Untitled',
            each.createdAt.slice(0, 10),
            each.markdown.replaceAll(/\r\n?/g, '\n').trim(),
          ]);
        expect(await read(copy)).toEqual(await read(app));
      }),
      runs,
    );
  });
});

describe('an export', () => {
  test('names a post in a changelog whose title has only characters that no line can show', async () => {
    const organizationId = await newOrganization();
    const published = { status: 'published', contentType: 'changelog' } as const;
    await store(organizationId, [{ id: 'blank', ...published, title: '\u0001', markdown: 'Text' }]);
    const exported = await textOf(app, organizationId, 'changelog');
    expect(exported).toContain('\n## Untitled - 2026-11-18\n\nText\n');
    await load(copy, organizationId, 'CHANGELOG.md', exported);
    expect(await textOf(copy, organizationId, 'changelog')).toBe(exported);
  });

  test('keeps whether the date of a draft was set, and content that the text does not give', async () => {
    const organizationId = await newOrganization();
    const posts = [
      { id: 'kept', status: 'draft', isDateSet: false, content: 'Own words', sourceMetadata: null },
    ] as const;
    await store(organizationId, posts);
    expect(await textOf(app, organizationId, 'jsonl')).toBe(
      '{"id":"kept","title":"Rocket 2.4: quieter engines","content":"Own words","markdown":"### Added\\n\\n- Quiet mode\\n","contentType":"changelog","sourceMetadata":null,"status":"draft","createdAt":"2026-11-18T09:30:00.000Z","updatedAt":"2026-11-18T10:02:11.482Z","isDateSet":false}\n',
    );
    const [file] = await filesOf(app, organizationId);
    expect(file?.path).toMatch(/^changelog\/2026-11-18-rocket-2-4-quieter-engines-kept\.\w{12}\.md$/);
    expect(file?.text).toBe(`---
id: "kept"
title: "Rocket 2.4: quieter engines"
contentType: "changelog"
status: "draft"
createdAt: "2026-11-18T09:30:00.000Z"
updatedAt: "2026-11-18T10:02:11.482Z"
isDateSet: false
verbatim: true
content: "Own words"
---

### Added

- Quiet mode

`);
    for (const [name, text] of [
      ['posts.jsonl', await textOf(app, organizationId, 'jsonl')],
      [file?.path ?? '', file?.text ?? ''],
    ] as const) {
      await load(copy, organizationId, name, text);
      expect(await copy.db.read((tx) => readPost(tx, 'kept'))).toEqual({
        ...plain,
        ...posts[0],
        organizationId,
      });
      await copy.db.write((tx) => deletePostRow(tx, 'kept'));
    }
  });

  test('has the posts of one moment: later ones and deleted ones are not in it', async () => {
    const organizationId = await newOrganization();
    const many = Array.from({ length: 60 }, (_, n) => ({
      id: `moment_${n}`,
      title: `${n}`,
      createdAt: `2026-01-01T00:00:00.0${n + 10}Z`,
    }));
    await store(organizationId, many);
    const titles: string[] = [];
    for await (const { title: each } of readExport(app.db, 'jsonl', { organizationId })) {
      titles.push(each);
      if (titles.length > 1) continue;
      await store(organizationId, [
        { id: 'moment_new', title: 'new', createdAt: '2025-01-01T00:00:00.000Z' },
      ]);
      // Its date would move it ahead of what is read already.
      await store(organizationId, [
        { id: 'moment_3', title: 'moved', createdAt: '2027-01-01T00:00:00.000Z' },
      ]);
      await app.db.write((tx) => deletePostRow(tx, 'moment_0'));
    }
    const rest = many.slice(1).reverse();
    expect(titles).toEqual(rest.map(({ id, title: each }) => (id === 'moment_3' ? 'moved' : each)));
  });

  test.each([
    ['unpublished', { status: 'draft' }],
    ['of another type', { contentType: 'linkedin_post' }],
    ["another organization's", {}],
  ] as const)('leaves out a post that is %s by its turn', async (what, change) => {
    const organizationId = await newOrganization();
    const owner = what.startsWith('another') ? await newOrganization() : organizationId;
    const many = Array.from({ length: 60 }, (_, n) => ({
      id: `${organizationId}_${n}`,
      createdAt: `2026-01-01T00:00:00.0${n + 10}Z`,
    }));
    await store(organizationId, many);
    const ids: string[] = [];
    const filters: Pick<ExportOptions, 'statuses' | 'contentTypes'> = {
      statuses: ['published'],
      contentTypes: ['changelog'],
    };
    for await (const { id } of readExport(app.db, 'jsonl', { organizationId, ...filters })) {
      if (ids.push(id) > 1) continue;
      await app.db.write((tx) => deletePostRow(tx, many[0]?.id ?? ''));
      await store(owner, [{ ...many[0], ...change }]);
    }
    expect(ids).toEqual(
      many
        .slice(1)
        .map(({ id }) => id)
        .reverse(),
    );
  });

  test('has the posts that the filters let through, in either order', async () => {
    const organizationId = await newOrganization();
    const kinds = [
      { id: 'f1', title: 'First', status: 'draft', contentType: 'changelog' },
      { id: 'f2', status: 'published', contentType: 'changelog' },
      { id: 'f3', status: 'published', contentType: 'linkedin_post' },
    ] as const;
    await store(organizationId, kinds);
    const idsOf = async (options: Partial<ExportOptions>) =>
      (JSON.parse(await textOf(app, organizationId, 'json', options)) as OwnedPost[]).map(({ id }) => id);
    expect(await idsOf({})).toEqual(['f3', 'f2', 'f1']);
    expect(await idsOf({ sort: 'asc' })).toEqual(['f1', 'f2', 'f3']);
    expect(await idsOf({ statuses: ['published'] })).toEqual(['f3', 'f2']);
    expect(await idsOf({ statuses: ['published'], contentTypes: ['linkedin_post'] })).toEqual(['f3']);
    const changelog = await textOf(app, organizationId, 'changelog');
    expect(changelog.match(/^## /gm)).toHaveLength(1);
    const both: Partial<ExportOptions> = { statuses: ['draft', 'published'] };
    const drafts = await textOf(app, organizationId, 'changelog', both);
    expect(drafts.match(/^## /gm)).toHaveLength(2);
    expect(await textOf(app, organizationId, 'changelog', { ...both, sort: 'asc' })).toBe(drafts);
  });

  test('of nothing, and of an unknown organization', async () => {
    const organizationId = await newOrganization();
    expect(await textOf(app, organizationId, 'json')).toBe('[]\n');
    expect(await textOf(app, organizationId, 'jsonl')).toBe('');
    expect(await filesOf(app, organizationId)).toEqual([]);
    expect(textOf(app, 'org_nobody', 'jsonl')).rejects.toMatchObject({ status: 404 });
  });
});

describe('names of Markdown files', () => {
  const pathOf = async (post: Partial<OwnedPost>) => {
    async function* one() {
      yield { ...plain, ...post };
    }
    const [file] = await Array.fromAsync(exportFiles(one()));
    return file?.path ?? '';
  };

  test.each([
    ['Crème brûlée & co.', 'changelog/2026-11-18-creme-brulee-co-post_3Qv8rT5kWn2LxYbZ7cJd4M.md'],
    ['../../etc/passwd', 'changelog/2026-11-18-etc-passwd-post_3Qv8rT5kWn2LxYbZ7cJd4M.md'],
    ['火箭', 'changelog/2026-11-18-post_3Qv8rT5kWn2LxYbZ7cJd4M.md'],
    ['CON', 'changelog/2026-11-18-con-post_3Qv8rT5kWn2LxYbZ7cJd4M.md'],
    ['x'.repeat(500), `changelog/2026-11-18-${'x'.repeat(60)}-post_3Qv8rT5kWn2LxYbZ7cJd4M.md`],
  ])('%s', async (given, path) => {
    expect(await pathOf({ id: 'post_3Qv8rT5kWn2LxYbZ7cJd4M', title: given })).toBe(path);
  });

  test('differ also where case does not count, and where an id continues a title', async () => {
    const paths = await Promise.all([
      pathOf({ id: 'A', title: 'x' }),
      pathOf({ id: 'a', title: 'x' }),
      pathOf({ id: 'x-a', title: '' }),
    ]);
    expect(new Set(paths.map((each) => each.toLowerCase())).size).toBe(3);
  });
});

test('an archive has the files, with the times of their posts as far as it can hold them', async () => {
  const organizationId = await newOrganization();
  const ends = ['0000-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'] as const;
  await store(organizationId, [
    { id: 'z1' },
    { id: 'z'.repeat(64), title: 'x'.repeat(500), updatedAt: ends[0] },
    { id: 'z3', title: '🚀', markdown: '🚀', updatedAt: ends[1] },
  ]);
  const files = await filesOf(app, organizationId);
  const posts = readExport(app.db, 'markdown', { organizationId });
  const chunks = await Array.fromAsync(archiveOf(exportFiles(posts)));
  const entries = await unpackTar(Bun.gunzipSync(Buffer.concat(chunks)));
  expect(
    entries.map(({ header, data }) => ({ path: header.name, text: String(Buffer.from(data ?? [])) })),
  ).toEqual(files.map(({ path, text: each }) => ({ path, text: each })));
  const times = new Map(
    entries.map(({ header }) => [header.name.includes('z1'), header.mtime?.toISOString()]),
  );
  expect(times.get(true)).toBe('2026-11-18T10:02:11.000Z');
});

test('an archive fails when its files do', async () => {
  const posts = readExport(app.db, 'markdown', { organizationId: 'org_nobody' });
  expect(Array.fromAsync(archiveOf(exportFiles(posts)))).rejects.toMatchObject({ status: 404 });
});

test('a post whose text gives more content than an import takes comes back', async () => {
  const organizationId = await newOrganization();
  const address = `https://example.com/${'x'.repeat(400)}`;
  const markdown = `${'[a][r] '.repeat(5_000)}\n\n[r]: ${address}\n`;
  const content = toPlainText(markdown);
  expect(content.length).toBeGreaterThan(200_000);
  await store(organizationId, [{ id: 'long', markdown, content }]);
  const exported = await textOf(app, organizationId, 'jsonl');
  await load(copy, organizationId, 'posts.jsonl', exported);
  expect(await copy.db.read((tx) => readPost(tx, 'long'))).toMatchObject({ markdown, content });
});

test('an id of another organization is replaced, and the summary counts it', async () => {
  const [organizationId, other] = [await newOrganization(), await newOrganization()];
  await store(organizationId, [{ id: 'mine' }]);
  const exported = await textOf(app, organizationId, 'jsonl');
  expect(await load(app, other, 'posts.jsonl', exported)).toMatchObject({ created: 1, reassignedIds: 1 });
  expect(await textOf(app, organizationId, 'jsonl')).toBe(exported);
});

describe('front matter', () => {
  test('an invalid isDateSet is refused at its line', async () => {
    const organizationId = await newOrganization();
    const file = '---\ntitle: A\nisDateSet: "no"\n---\ntext\n';
    expect(load(copy, organizationId, 'a.md', file)).rejects.toThrow(/^a\.md:3: isDateSet must be/);
  });

  test('of other tools keeps its own names: markdown beside a text, and verbatim', async () => {
    const organizationId = await newOrganization();
    const file = '---\nid: own\ntitle: A\nmarkdown: gfm\nverbatim: 2\n---\n\n  text \n\n';
    await load(copy, organizationId, 'a.md', file);
    expect(await copy.db.read((tx) => readPost(tx, 'own'))).toMatchObject({
      markdown: 'text',
      sourceMetadata: { markdown: 'gfm', verbatim: 2 },
    });
  });
});

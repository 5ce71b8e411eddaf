import type { SampleContext } from './context.ts';

const BEFORE = '4f1c0a9d2b7e83655aa0c1de9f3b4472c6d81e05';

const COMMITS = [
  {
    id: '8d3e5b1f60a94c72be1d07f5a2c34e9988b0d6a1',
    tree: '1b7a5f0c93de48261f0b9a7c55e2d38846af9e10',
    message: 'feat(engine): start 40 % softer in quiet mode\n\nCo-authored-by: Ben <ben@acme.test>',
    file: 'src/engine.ts',
  },
  {
    id: 'c02f9a6e7d1b45830e6cfa9124d7b35fe8812a77',
    tree: '6e02c4d89b1f47a5a3de10fb27c96485d03b7f21',
    message: "fix(gauge): show today's value after midnight (#12)",
    file: 'src/gauge.ts',
  },
  {
    id: '27be04c8f95d4a1e93b0d6c7185f2ae4609dc3f8',
    tree: 'd95c7e3380ab4f1296ce0b74a1f852d36e9b04c7',
    message: 'docs: tell the neighbours about quiet mode',
    file: 'docs/quiet-mode.md',
  },
];

/** Three commits that reach the default branch. */
export function push({ pageUrl, minutesAgo, common }: SampleContext): Record<string, unknown> {
  const commits = COMMITS.map(({ id, tree, message, file }, index) => {
    const person = { name: 'Ann', email: 'ann@acme.test', username: 'ann' };
    return {
      id,
      tree_id: tree,
      distinct: true,
      message,
      timestamp: minutesAgo(30 - 10 * index),
      url: `${pageUrl}/commit/${id}`,
      author: person,
      committer: person,
      added: [],
      removed: [],
      modified: [file],
    };
  });
  const head = commits.at(-1);
  const after = head?.id ?? BEFORE;
  return {
    ref: 'refs/heads/main',
    before: BEFORE,
    after,
    ...common,
    pusher: { name: 'ann', email: 'ann@acme.test' },
    created: false,
    deleted: false,
    forced: false,
    base_ref: null,
    compare: `${pageUrl}/compare/${BEFORE.slice(0, 12)}...${after.slice(0, 12)}`,
    commits,
    head_commit: head,
  };
}

import { Option } from 'commander';
import { countDrafts } from '../drafting/store.ts';
import { listRuns } from '../drafting/triggers/queue-store.ts';
import { countQueuedRanges, nextRangeDueAt } from '../drafting/triggers/range-store.ts';
import { readRanges } from '../drafting/triggers/ranges.ts';
import { runTriggers } from '../drafting/triggers/run.ts';
import { readHistory } from '../intake/history/read.ts';
import { findProvider, MAX_RELEASES, readableProviders, startHistory } from '../intake/history/service.ts';
import { findHistory, type History } from '../intake/history/store.ts';
import { AppError } from '../lib/app-error.ts';
import { count } from '../lib/text.ts';
import { getOrganization } from '../people/organization-store.ts';
import { type ContentType, contentTypes, DEFAULT_CONTENT_TYPE } from '../posts/model.ts';
import type { IntegrationType } from '../providers/index.ts';
import type { Services } from '../server/services.ts';
import { copyDueImages } from '../server/sweep.ts';
import { readToken, sinceWhen, type TidingsCommand, timeOrSpan, whole } from './command.ts';
import { fields, type Progress, progressOf, type Text } from './output.ts';
import { withComposer } from './trigger-runs.ts';

interface HistoryOptions {
  organization: string;
  contentType: ContentType;
  provider?: IntegrationType;
  since?: string;
  releases?: number;
  publish?: true;
  token?: string;
}

/** How long a command waits for the provider to answer again, in milliseconds. */
const MAX_WAIT_MS = 90_000;

/** How often a command looks at a history that the server reads, in milliseconds. */
const LOOK_MS = 250;

/** `--provider`, for a repository that is given as OWNER/NAME. */
export function providerOption(): Option {
  const ids = readableProviders.map(({ id }) => id);
  return new Option(
    '--provider <id>',
    `Where OWNER/NAME is (default: where the organization has it, else ${ids[0]})`,
  ).choices(ids);
}

export function add(program: TidingsCommand): void {
  const line = 'history acme/rocket --organization acme';
  program
    .sub('history', 'Make drafts of the past releases of a repository')
    .argument('<repository>', 'Repository, as OWNER/NAME or URL')
    .requiredOption('--organization <id>', 'Organization')
    .addOption(
      new Option('--content-type <type>', 'Content type of the posts')
        .choices(contentTypes)
        .default(DEFAULT_CONTENT_TYPE),
    )
    .addOption(
      new Option(
        '--since <time>',
        'Only releases since this time: ISO 8601, or a span back from now such as 90d, 1y',
      ).argParser(timeOrSpan),
    )
    .addOption(
      new Option('--releases <number>', 'Only so many of the newest releases').argParser(
        whole(1, MAX_RELEASES),
      ),
    )
    .option('--publish', 'Publish the posts, each with the date of its release')
    .option('--token <token>', 'Token that can read the repository; - reads it from standard input')
    .addOption(providerOption())
    .answers(
      (services, repository: string, options: HistoryOptions) =>
        importReleases(services, progressOf(program.context.terminal), repository, options),
      (result, _, options) => describe(result, options),
      ({ history: { id, integrationId, repositoryId, triggerId, status, found }, posts }) => ({
        ...{ id, integrationId, repositoryId, triggerId, status },
        releases: found,
        posts,
      }),
    )
    .note(
      'A public repository needs no token. Running the command again reads what is new, and makes nothing twice. After Ctrl-C, the same command continues.',
    )
    .examples(line, `${line} --releases 20`, `${line} --since 1y --publish`);
}

interface Result {
  history: History;
  /** How many posts it made. */
  posts: number;
  url: string;
}

async function importReleases(
  services: Services,
  progress: Progress,
  repository: string,
  options: HistoryOptions,
): Promise<Result> {
  const { organization: organizationId, contentType, since, releases, publish = false, token } = options;
  const abort = new AbortController();
  const stop = () => abort.abort();
  process.once('SIGINT', stop);
  try {
    const { needsApproval } = await services.db.read((tx) => getOrganization(tx, organizationId));
    if (publish && needsApproval) {
      const message =
        'Publishing needs a second person here. Leave out --publish: the releases become drafts';
      throw new AppError(409, message);
    }
    const started = await startHistory(services, {
      type: options.provider ?? (await findProvider(services, organizationId, repository)),
      ...{ organizationId, repository, contentType, releases, publish },
      since: since === undefined ? undefined : sinceWhen(since, services.clock.now()),
      token: token === undefined ? undefined : await readToken(token),
    });
    const { triggerId } = started;
    const countPosts = () => services.db.read((tx) => countDrafts(tx, triggerId));
    const before = await countPosts();
    progress.show('Reading releases');
    const history = await readAll(services, started, abort.signal, progress);
    if (!abort.signal.aborted) await readCommits(services, history, abort.signal, progress);
    if (!abort.signal.aborted) await writePosts(services, history, progress, countPosts, abort.signal);
    if (abort.signal.aborted) throw new AppError(409, 'Stopped. Run the same command to continue.');
    const posts = (await countPosts()) - before;
    progress.clear();
    if (history.status === 'done') return { history, posts, url: services.publicUrl() };
    const made = posts === 0 ? '' : ` ${count(posts, 'post')} ${posts === 1 ? 'is' : 'are'} written already.`;
    throw new AppError(409, `${whyNot(history)}${made}`, { code: 'history_unfinished' });
  } finally {
    process.off('SIGINT', stop);
    progress.clear();
  }
}

/** Reads until the history ends, has to wait for long, or is aborted. */
async function readAll(
  services: Services,
  { id }: History,
  signal: AbortSignal,
  progress: Progress,
): Promise<History> {
  for (;;) {
    await readHistory(services, id, { signal, onPage: (history) => show(progress, history) });
    const history = await services.db.read((tx) => findHistory(tx, id));
    if (history === null) throw new AppError(409, 'The integration was disconnected meanwhile.');
    if (history.status !== 'queued' || signal.aborted) return history;
    show(progress, history);
    const waitMs = history.dueAt - services.clock.now().getTime();
    if (history.problem !== null && waitMs > MAX_WAIT_MS) return history;
    // Without a problem, the server reads it.
    await Bun.sleep(history.problem === null ? LOOK_MS : Math.min(Math.max(waitMs, LOOK_MS), LOOK_MS * 4));
  }
}

function show(progress: Progress, { cursor, found, releases, problem }: History): void {
  const phase = cursor === null || cursor.phase === 'releases' ? '' : ', reading their pull requests';
  const words = `Reading releases: ${found} found${phase}${problem === null ? '' : `. ${problem} Waiting`}`;
  progress.show(words, releases === null ? undefined : { done: found, of: releases });
}

/** Reads the commits of releases without notes, as far as the provider answers now. The server reads the rest later. */
async function readCommits(
  services: Services,
  source: Pick<History, 'integrationId' | 'repositoryId'>,
  signal: AbortSignal,
  progress: Progress,
): Promise<void> {
  const { db, clock } = services;
  for (;;) {
    const left = await db.read((tx) => countQueuedRanges(tx, source));
    if (left > 0) progress.show(`Reading the commits of ${count(left, 'release')}`);
    await readRanges(services, { signal, repositoryId: source.repositoryId });
    const dueAt = await db.read((tx) => nextRangeDueAt(tx, source));
    const waitMs = dueAt === null ? Number.POSITIVE_INFINITY : dueAt - clock.now().getTime();
    if (waitMs > MAX_WAIT_MS || signal.aborted) return;
    await Bun.sleep(Math.max(waitMs, LOOK_MS));
  }
}

/** Writes the posts with the copies of their images, so that they exist when the command ends. */
async function writePosts(
  services: Services,
  { found, integrationId, triggerId }: History,
  progress: Progress,
  countPosts: () => Promise<number>,
  signal: AbortSignal,
): Promise<void> {
  const before = await countPosts();
  let written = before;
  let isCounting = false;
  // Counting takes a query, and each post is a step.
  const onStep = () => {
    progress.show(`Writing posts: ${written - before}`, { done: written - before, of: found });
    if (isCounting || !progress.isShown) return;
    isCounting = true;
    void countPosts()
      .then((counted) => {
        written = counted;
      })
      .catch(() => undefined)
      .finally(() => {
        isCounting = false;
      });
  };
  const giveUpAt = performance.now() + MAX_WAIT_MS;
  await withComposer(async (compose) => {
    for (;;) {
      progress.show('Copying images');
      await copyDueImages(services, signal);
      await runTriggers(services, compose, signal, onStep);
      // A run waits while an image is tried again, and beside a server that does it.
      const runs = await services.db.read((tx) => listRuns(tx, { integrationId, status: 'queued' }));
      const isLeft = runs.some((run) => run.triggerId === triggerId && run.error === null);
      if (!isLeft || signal.aborted || performance.now() > giveUpAt) return;
      await Bun.sleep(LOOK_MS);
    }
  });
}

function whyNot({ status, problem, dueAt }: History): string {
  if (status === 'stopped') return 'Somebody stopped this import.';
  if (status === 'failed') return problem ?? 'The import failed.';
  const time = new Date(dueAt).toISOString().replace(/\.\d+Z$/, 'Z');
  return `${problem} A running server continues at ${time}. Without a server, run the same command then.`;
}

function describe({ history, posts, url }: Result, { publish, organization }: HistoryOptions): Text {
  const { found, integrationId, triggerId } = history;
  if (found === 0) return 'The repository has no releases that match. No drafts were written.';
  const what = publish ? 'post' : 'draft';
  const made =
    posts === 0
      ? `No new ${what}s. All ${count(found, 'release')} have posts already.`
      : `${count(posts, what)} written from ${count(found, 'release')}: ${url}/dashboard/${organization}/posts${publish ? '' : '?status=draft'}`;
  const next = publish || posts === 0 ? '' : `To publish them: select them there, or run "post publish".`;
  return [made, next, fields({ Integration: integrationId, Trigger: triggerId })];
}

import { type Command, Option } from 'commander';
import { countDrafts } from '../drafts/store.ts';
import { readHistory } from '../history/read.ts';
import { type HistoryRequest, MAX_RELEASES, providerOfRepository, startHistory } from '../history/service.ts';
import { findHistory, type History } from '../history/store.ts';
import { AppError } from '../lib/app-error.ts';
import { count } from '../lib/text.ts';
import type { Services } from '../main.ts';
import { type ContentType, contentTypes } from '../posts/model.ts';
import { type IntegrationType, providers } from '../providers/index.ts';
import { countQueuedRanges, nextRangeDueAt } from '../triggers/range-store.ts';
import { readRanges } from '../triggers/ranges.ts';
import { runTriggers } from '../triggers/run.ts';
import { answering } from './command.ts';
import { type CliContext, readToken, sinceWhen, timeOrSpan, whole } from './context.ts';
import { examples, note } from './help.ts';
import { fields, type Text } from './output.ts';
import type { Terminal } from './terminal.ts';
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

const ids = providers.filter(({ reader }) => reader !== null).map(({ id }) => id);

export function addHistoryCommand(program: Command, context: CliContext): void {
  const command = program
    .command('history')
    .description('Make drafts of the past releases of a repository')
    .argument('<repository>', 'Repository, as OWNER/NAME or URL')
    .requiredOption('--organization <id>', 'Organization')
    .addOption(
      new Option('--content-type <type>', 'Content type of the posts')
        .choices(contentTypes)
        .default('changelog'),
    )
    .addOption(
      new Option(
        '--since <time>',
        'Only releases since this time: ISO 8601, or a span back from now such as 90d, 1y',
      )
        .argParser(timeOrSpan)
        .conflicts('releases'),
    )
    .addOption(
      new Option('--releases <number>', 'Only so many of the newest releases').argParser(
        whole(1, MAX_RELEASES),
      ),
    )
    .option('--publish', 'Publish the posts, each with the date of its release')
    .option('--token <token>', 'Token that can read the repository; - reads it from standard input')
    .addOption(new Option('--provider <id>', 'Where OWNER/NAME is (default: github)').choices(ids))
    .action(
      answering(context)(
        (services, repository: string, options: HistoryOptions) =>
          run(services, context.terminal, repository, options),
        describe,
        ({ history, drafts }) => ({
          id: history.id,
          integrationId: history.integrationId,
          repositoryId: history.repositoryId,
          triggerId: history.triggerId,
          status: history.status,
          releases: history.found,
          posts: drafts,
        }),
      ),
    );
  note(
    command,
    'A public repository needs no token. Running the command again reads what is new, and makes nothing twice. A command that was stopped goes on where it was.',
  );
  const line = 'history acme/rocket --organization acme';
  examples(command, line, `${line} --releases 20`, `${line} --since 1y --publish`);
}

interface Result {
  history: History;
  /** How many posts it made. */
  drafts: number;
  url: string;
}

async function run(
  services: Services,
  terminal: Terminal,
  repository: string,
  options: HistoryOptions,
): Promise<Result> {
  const { organization: organizationId, contentType, since, releases, publish = false, token } = options;
  const request: HistoryRequest = {
    type: options.provider ?? providerOfRepository(services, repository),
    organizationId,
    repository,
    contentType,
    releases,
    publish,
    since: since === undefined ? undefined : sinceWhen(since, services.clock.now()),
    token: token === undefined ? undefined : await readToken(token),
  };
  const abort = new AbortController();
  const stop = () => abort.abort();
  process.once('SIGINT', stop);
  const progress = progressOf(terminal);
  try {
    const started = await startHistory(services, request);
    const before = await services.db.read((tx) => countDrafts(tx, started.triggerId));
    const history = await readAll(services, started, abort.signal, progress);
    if (abort.signal.aborted) throw new AppError(409, 'Stopped. Run the same command to go on.');
    await readCommits(services, history, abort.signal, progress);
    progress('Writing the posts');
    await withComposer((compose) => runTriggers(services, compose, abort.signal));
    const after = await services.db.read((tx) => countDrafts(tx, started.triggerId));
    return { history, drafts: after - before, url: services.publicUrl() };
  } finally {
    process.off('SIGINT', stop);
    progress(null);
  }
}

/** Reads until the history ends. Throws `AppError` 409 with the reason when it cannot go on now. */
async function readAll(
  services: Services,
  { id }: History,
  signal: AbortSignal,
  progress: (line: string | null) => void,
): Promise<History> {
  const show = ({ found, cursor }: History) =>
    progress(
      cursor?.phase === 'requests'
        ? `${count(found, 'release')} found. Reading pull requests`
        : `${count(found, 'release')} found`,
    );
  progress('Reading releases');
  for (;;) {
    await readHistory(services, id, { signal, onPage: show });
    const history = await services.db.read((tx) => findHistory(tx, id));
    if (history === null) throw new AppError(409, 'The history was deleted meanwhile.');
    if (history.status !== 'queued' || signal.aborted) {
      if (history.status === 'failed') throw new AppError(409, history.problem ?? 'The history failed.');
      return history;
    }
    show(history);
    const waitMs = history.dueAt - services.clock.now().getTime();
    if (waitMs > MAX_WAIT_MS) {
      throw new AppError(
        409,
        `${history.problem} A running server goes on by itself at ${new Date(history.dueAt).toISOString()}; without one, run the same command then.`,
      );
    }
    await Bun.sleep(Math.max(waitMs, LOOK_MS));
  }
}

/** Reads the commits of releases without notes, as far as the provider answers now. The server reads the rest later. */
async function readCommits(
  services: Services,
  source: Pick<History, 'integrationId' | 'repositoryId'>,
  signal: AbortSignal,
  progress: (line: string | null) => void,
): Promise<void> {
  const { db, clock } = services;
  for (;;) {
    const left = await db.read((tx) => countQueuedRanges(tx, source));
    if (left > 0) progress(`Reading the commits of ${count(left, 'release')}`);
    await readRanges(services, { signal, repositoryId: source.repositoryId });
    const dueAt = await db.read((tx) => nextRangeDueAt(tx, source));
    const waitMs = dueAt === null ? Number.POSITIVE_INFINITY : dueAt - clock.now().getTime();
    if (waitMs > MAX_WAIT_MS || signal.aborted) return;
    await Bun.sleep(Math.max(waitMs, LOOK_MS));
  }
}

/** Shows one changing line on a terminal; null removes it. */
function progressOf(terminal: Terminal): (line: string | null) => void {
  if (!terminal.isInteractive) return () => undefined;
  return (line) => terminal.writeError(`\r\u001b[K${line === null ? '' : `${line}…`}`);
}

function describe({ history, drafts, url }: Result, _repository: string, { publish }: HistoryOptions): Text {
  const { found } = history;
  if (found === 0) return 'The repository has no releases that match. Nothing was made.';
  const made =
    drafts === 0
      ? `No new posts: all of the ${count(found, 'release')} were known.`
      : `${count(drafts, publish ? 'post' : 'draft')} from ${count(found, 'release')}.`;
  return [
    made,
    fields({ Integration: history.integrationId, Trigger: history.triggerId }),
    publish ? '' : `Edit and publish them at ${url}/posts`,
  ];
}

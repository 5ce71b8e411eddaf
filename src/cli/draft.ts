import { InvalidArgumentError, Option } from 'commander';
import { getTrigger } from '../drafting/triggers/model.ts';
import { type CompareDraft, draftCompare, parseRange } from '../intake/history/compare.ts';
import {
  parseRequest,
  previewRequest,
  type RequestName,
  type RequestPreview,
} from '../intake/history/preview.ts';
import { findProvider } from '../intake/history/service.ts';
import { AppError } from '../lib/app-error.ts';
import { count } from '../lib/text.ts';
import { listOrganizations } from '../people/organization-store.ts';
import { type ContentType, contentTypes } from '../posts/model.ts';
import type { IntegrationType } from '../providers/index.ts';
import type { Services } from '../server/services.ts';
import type { TidingsCommand } from './command.ts';
import { providerOption } from './history.ts';
import { fields, oneLine, type Text } from './output.ts';
import { describeLeftOut, withComposer } from './trigger-runs.ts';

interface DraftOptions {
  organization?: string;
  contentType?: ContentType;
  trigger?: string;
  provider?: IntegrationType;
}

export function add(program: TidingsCommand): void {
  addDraftCommand(program);
  addPreviewCommand(program);
}

function addDraftCommand(program: TidingsCommand): void {
  program
    .sub('draft', 'Make a draft of the changes between two tags, which no trigger has to have seen')
    .argument('<repository>', 'Repository, as OWNER/NAME or URL')
    .argument('<range>', 'Two tags, branches or commits, such as v1.2.0..v1.3.0')
    .option(
      '--organization <id>',
      'Organization that gets the draft (default: that of the trigger, or the only one)',
    )
    .addOption(
      new Option(
        '--content-type <type>',
        'Content type of the post (default: that of the trigger, or changelog)',
      ).choices(contentTypes),
    )
    .option(
      '--trigger <id>',
      'Use the templates, filters and rules of this trigger (default: the built-in ones)',
    )
    .addOption(providerOption())
    .answers(async (services, repository: string, range: string, options: DraftOptions) => {
      parseRange(range);
      const organizationId = await findOrganizationId(services, options);
      const request = {
        type: options.provider ?? (await findProvider(services, organizationId, repository)),
        organizationId,
        ...{ repository, range, contentType: options.contentType, triggerId: options.trigger },
      };
      const draft = await withComposer((compose) => draftCompare(services, compose, request));
      const url = `${services.publicUrl()}/dashboard/${request.organizationId}/posts/${draft.post.id}`;
      return { ...draft, url };
    }, describeDraft)
    .note(
      'Reads with the token of the integration that has the repository. A public repository needs neither a token nor an integration. Each run makes a new draft.',
    )
    .examples(
      'draft acme/rocket v1.2.0..v1.3.0',
      'draft acme/rocket v1.3.0..main --organization acme --trigger trg_…',
    );
}

/** The organization that a person names; else that of the trigger, or the only one. */
export async function findOrganizationId(
  { db }: Pick<Services, 'db'>,
  { organization, trigger }: Pick<DraftOptions, 'organization' | 'trigger'>,
): Promise<string> {
  if (organization !== undefined) return organization;
  return db.read(async (tx) => {
    if (trigger !== undefined) return (await getTrigger(tx, trigger)).organizationId;
    const [first, ...others] = await listOrganizations(tx);
    if (first !== undefined && others.length === 0) return first.id;
    throw new AppError(400, 'Name the organization with --organization.');
  });
}

function describeDraft({ post, commits, pullRequests, leftOut, url }: CompareDraft & { url: string }): Text {
  const read = `${count(commits, 'commit')}, ${count(pullRequests, 'pull request')}`;
  return [
    `Draft written: ${oneLine(post.title, 200)}`,
    fields({ Post: post.id, Read: read, Edit: url }),
    describeLeftOut(leftOut),
  ];
}

function pullRequest(text: string): RequestName {
  const request = parseRequest(text);
  if (request !== null) return request;
  throw new InvalidArgumentError('It must be OWNER/NAME#NUMBER, such as acme/rocket#12, or its URL.');
}

function addPreviewCommand(program: TidingsCommand): void {
  program
    .sub('preview', 'Show what a pull request adds to drafts, and why')
    .argument('<pull-request>', 'OWNER/NAME#NUMBER, GROUP/NAME!NUMBER or URL, merged or not', pullRequest)
    .option('--organization <id>', 'Organization whose triggers count (default: the only one)')
    .addOption(providerOption())
    .answers(
      async (services, request: RequestName, options: Pick<DraftOptions, 'organization' | 'provider'>) =>
        previewRequest(services, await findOrganizationId(services, options), request, {
          type: options.provider,
        }),
      describePreview,
    )
    .note('Reads only: Tidings writes nothing, neither here nor at the provider.')
    .examples('preview acme/rocket#12', 'preview acme/rocket#12 --json');
}

function describePreview({ reference, title, state, drafts }: RequestPreview): Text {
  return [
    `${reference} ${oneLine(title, 200)} (${state})`,
    ...drafts.map(({ triggerId, event, contentType, entries, because, leftOut }) =>
      [
        triggerId === null
          ? 'Without a trigger, by the built-in rules:'
          : `${triggerId} ${event}, ${contentType}:`,
        ...entries.map(({ group, line }) => `  ${group}: ${oneLine(line, 1_000)}`),
        leftOut === null
          ? `  Because: words: ${because.words}; group: ${because.group}`
          : `  Left out: ${leftOut}`,
      ].join('\n'),
    ),
  ];
}

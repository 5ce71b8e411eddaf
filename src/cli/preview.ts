import { InvalidArgumentError } from 'commander';
import {
  parseRequest,
  previewRequest,
  type RequestName,
  type RequestPreview,
} from '../intake/history/preview.ts';
import type { IntegrationType } from '../providers/index.ts';
import type { TidingsCommand } from './command.ts';
import { findOrganizationId } from './draft.ts';
import { providerOption } from './history.ts';
import { oneLine, type Text } from './output.ts';

function pullRequest(text: string): RequestName {
  const request = parseRequest(text);
  if (request !== null) return request;
  throw new InvalidArgumentError('It must be OWNER/NAME#NUMBER, such as acme/rocket#12, or its URL.');
}

export function add(program: TidingsCommand): void {
  program
    .sub('preview', 'Show what a pull request adds to drafts, and why')
    .argument('<pull-request>', 'OWNER/NAME#NUMBER, GROUP/NAME!NUMBER or URL, merged or not', pullRequest)
    .option('--organization <id>', 'Organization whose triggers count (default: the only one)')
    .addOption(providerOption())
    .answers(
      async (
        services,
        request: RequestName,
        options: { organization?: string; provider?: IntegrationType },
      ) =>
        previewRequest(services, await findOrganizationId(services, options), request, {
          type: options.provider,
        }),
      describe,
    )
    .note('Reads only: Tidings writes nothing, neither here nor at the provider.')
    .examples('preview acme/rocket#12', 'preview acme/rocket#12 --json');
}

function describe({ reference, title, state, drafts }: RequestPreview): Text {
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

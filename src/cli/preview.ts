import { InvalidArgumentError } from 'commander';
import { previewRequest, type RequestPreview } from '../intake/history/preview.ts';
import { providerOfRepository } from '../intake/history/service.ts';
import type { IntegrationType } from '../providers/index.ts';
import type { TidingsCommand } from './command.ts';
import { findOrganizationId } from './draft.ts';
import { providerOption } from './history.ts';
import { oneLine, type Text } from './output.ts';

function pullRequest(text: string): { repository: string; number: number } {
  const [, repository = '', number] = /^([^#]{1,500})#(\d{1,9})$/.exec(text) ?? [];
  if (number !== undefined) return { repository, number: Number(number) };
  throw new InvalidArgumentError('It must be OWNER/NAME#NUMBER, such as acme/rocket#12.');
}

export function add(program: TidingsCommand): void {
  program
    .sub('preview', 'Show what a pull request adds to drafts, and why')
    .argument('<pull-request>', 'OWNER/NAME#NUMBER, merged or not', pullRequest)
    .option('--organization <id>', 'Organization whose triggers count (default: the only one)')
    .addOption(providerOption())
    .answers(
      async (
        services,
        { repository, number }: ReturnType<typeof pullRequest>,
        options: { organization?: string; provider?: IntegrationType },
      ) =>
        previewRequest(services, {
          type: options.provider ?? providerOfRepository(services, repository),
          organizationId: await findOrganizationId(services, options),
          ...{ repository, number },
        }),
      describe,
    )
    .note('Reads only: Tidings writes nothing, neither here nor at the provider.')
    .examples('preview acme/rocket#12', 'preview acme/rocket#12 --json');
}

function describe({ repository, number, title, state, drafts }: RequestPreview): Text {
  return [
    `${repository}#${number} ${oneLine(title, 200)} (${state})`,
    ...drafts.map(({ triggerId, event, contentType, entries, because, leftOut }) =>
      [
        triggerId === null
          ? 'Without a trigger, by the built-in rules:'
          : `${triggerId} ${event}, ${contentType}:`,
        ...entries.map(({ group, line }) => `  ${group}: ${oneLine(line, 1_000)}`),
        leftOut === null ? `  Because: ${because}` : `  Left out: ${leftOut}`,
      ].join('\n'),
    ),
  ];
}

import { InvalidArgumentError } from 'commander';
import { previewRequest, type RequestPreview } from '../intake/history/preview.ts';
import { providerOfRepository } from '../intake/history/service.ts';
import type { IntegrationType } from '../providers/index.ts';
import { requestAt } from '../providers/paths.ts';
import type { TidingsCommand } from './command.ts';
import { findOrganizationId } from './draft.ts';
import { providerOption } from './history.ts';
import { oneLine, type Text } from './output.ts';

function pullRequest(text: string): { repository: string; number: number; mark?: '!' } {
  const given = text.trim();
  const page = requestAt(given);
  if (page !== null) return { repository: page.repository, number: page.number };
  const [, repository = '', mark, number] = /^([^#!]{1,500})([#!])(\d{1,9})$/.exec(given) ?? [];
  if (number !== undefined) return { repository, number: Number(number), ...(mark === '!' && { mark }) };
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
        { repository, number, mark }: ReturnType<typeof pullRequest>,
        options: { organization?: string; provider?: IntegrationType },
      ) =>
        previewRequest(services, {
          type: options.provider ?? providerOfRepository(services, repository, mark),
          organizationId: await findOrganizationId(services, options),
          ...{ repository, number },
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
        leftOut === null ? `  Because: ${because}` : `  Left out: ${leftOut}`,
      ].join('\n'),
    ),
  ];
}

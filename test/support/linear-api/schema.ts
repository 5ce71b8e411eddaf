import { join } from 'node:path';
import { buildSchema, type GraphQLSchema } from 'graphql';

// The part of Linear's schema that the stand-in supports, from the types of the installed SDK, which Linear generates
// from its schema. The types lack the default values of arguments, and call IDComparator IdComparator.

const SDK = join(import.meta.dir, '../../../node_modules/@linear/sdk/dist');

const OPERATIONS: Record<string, readonly string[]> = {
  Query: [
    ...[
      'attachments',
      'initiativeUpdates',
      'issues',
      'projectUpdates',
      'projects',
      'releaseNotes',
      'releases',
    ],
    ...['team', 'teams', 'viewer', 'webhook', 'webhooks'],
  ],
  Mutation: ['webhookCreate', 'webhookDelete', 'webhookUpdate'],
};

/** The types of their arguments and results. Fields of other types are left out. */
const KEPT = [
  ...['ArchivePayload', 'DeletePayload', 'Node', 'PageInfo', 'PaginationOrderBy', 'User'],
  ...['Team', 'TeamConnection', 'TeamEdge', 'TeamVisibility', 'TeamFilter'],
  ...['BooleanComparator', 'IdComparator', 'StringComparator', 'TeamVisibilityComparator'],
  ...['Webhook', 'WebhookConnection', 'WebhookCreateInput', 'WebhookEdge', 'WebhookPayload'],
  'WebhookUpdateInput',
  ...['ActorBot', 'DocumentContent', 'Initiative', 'InitiativeVisibility', 'IssueHistory', 'IssueLabel'],
  ...[
    'ProjectMilestone',
    'ProjectStatus',
    'ProjectStatusType',
    'ReleasePipeline',
    'ReleaseStage',
    'ReleaseStageType',
  ],
  ...['WorkflowState', 'InitiativeUpdateHealthType', 'ProjectUpdateHealthType'],
  ...['IssueHistoryConnection', 'IssueLabelConnection', 'DateComparator', 'NumberComparator'],
  ...['ReleasePipelineFilter', 'TeamCollectionFilter'],
  ...[
    'Attachment',
    'InitiativeUpdate',
    'Issue',
    'Project',
    'ProjectUpdate',
    'Release',
    'ReleaseNote',
  ].flatMap((name) => [name, `${name}Connection`, `${name}Filter`]),
];
const INTERFACES = ['ArchivePayload', 'Node'];
const OWN_SCALARS = ['DateTime', 'DateTimeOrDuration', 'JSONObject', 'TimelessDate'];
const SCALARS = ['Boolean', 'Float', 'ID', 'Int', 'String', ...OWN_SCALARS];

/** A declaration: the text before its braces, and the lines within. */
interface Declaration {
  head: string;
  lines: string[];
}

export async function readSchema(): Promise<GraphQLSchema> {
  const declarations = await readDeclarations();
  const types = ['Query', 'Mutation', ...KEPT].map((name) => definition(name, declarations));
  const scalars = OWN_SCALARS.map((name) => `scalar ${name}`);
  return buildSchema([...scalars, ...types].join('\n').replaceAll('IdComparator', 'IDComparator'));
}

async function readDeclarations(): Promise<Map<string, Declaration>> {
  const declarations = new Map<string, Declaration>();
  for await (const file of new Bun.Glob('index-*.d.mts').scan(SDK)) {
    const text = await Bun.file(join(SDK, file)).text();
    for (const [, head = '', name = '', body = ''] of text.matchAll(
      /^((?:type|declare enum) (\w+)[^{\n]*)\{\n([\s\S]*?)^\}/gm,
    )) {
      const lines = body.split('\n').filter((line) => /^ {2}\w+(\?:|:| =) .*[;,]$/.test(line));
      declarations.set(name, { head, lines });
    }
  }
  return declarations;
}

function definition(name: string, declarations: ReadonlyMap<string, Declaration>): string {
  const declaration = declarations.get(name);
  if (declaration === undefined) throw new Error(`The SDK has no type ${name} any more`);
  const { head, lines } = declaration;
  if (head.startsWith('declare enum')) {
    return `enum ${name} { ${lines.map((line) => /"(\w+)"/.exec(line)?.[1]).join(' ')} }`;
  }
  const fields = lines.flatMap((line) => {
    const [, field = '', isOptional, type = ''] = /^ {2}(\w+)(\?)?: (.*);$/.exec(line) ?? [];
    if (field === '__typename' || !(OPERATIONS[name]?.includes(field) ?? true)) return [];
    const written = typeOf(type, isOptional !== undefined);
    return written === null ? [] : [`${field}${argumentsOf(name, field, declarations)}: ${written}`];
  });
  const implemented = INTERFACES.filter((one) => head.includes(`${one} &`));
  const bases = implemented.length === 0 ? '' : `implements ${implemented.join(' & ')}`;
  return `${keywordOf(name)} ${name} ${bases} {\n${fields.join('\n')}\n}`;
}

function keywordOf(name: string): string {
  if (INTERFACES.includes(name)) return 'interface';
  return /(Input|Filter|Comparator)$/.test(name) ? 'input' : 'type';
}

function argumentsOf(type: string, field: string, declarations: ReadonlyMap<string, Declaration>): string {
  const declared = declarations.get(`${type}${field.charAt(0).toUpperCase()}${field.slice(1)}Args`);
  if (declared === undefined) return '';
  const written = declared.lines.flatMap((line) => {
    const [, name = '', isOptional, type = ''] = /^ {2}(\w+)(\?)?: (.*);$/.exec(line) ?? [];
    const argument = typeOf(type, isOptional !== undefined);
    return argument === null ? [] : [`${name}: ${argument}`];
  });
  return `(${written.join(', ')})`;
}

/** A type of TypeScript as GraphQL writes it; null for a type that is left out. */
function typeOf(written: string, isNullable: boolean): string | null {
  const maybe = /^(?:Input)?Maybe<(.*)>$/.exec(written)?.[1];
  if (maybe !== undefined) return typeOf(maybe, true);
  const item = /^Array<(.*)>$/.exec(written)?.[1];
  const inner = item === undefined ? null : typeOf(item, false);
  const scalar = /^Scalars\["(\w+)"\]$/.exec(written)?.[1];
  const name = scalar ?? written;
  const isKept = (scalar === undefined ? KEPT : SCALARS).includes(name);
  const type = inner === null ? (isKept ? name : null) : `[${inner}]`;
  return type === null || isNullable ? type : `${type}!`;
}

import { join } from 'node:path';
import { version } from '@linear/sdk/package.json';
import { buildSchema, lexicographicSortSchema, printSchema } from 'graphql';

// The part of Linear's schema that the stand-in supports, from the types of the installed SDK, which Linear generates
// from its schema. Run `bun test/support/linear-api/extract-schema.ts` after an update of the SDK. The types lack the
// default values of arguments, and call IDComparator IdComparator.

const root = join(import.meta.dir, '../../..');
export const SCHEMA_FILE = join(root, 'test/fixtures/linear/schema.graphql');

const OPERATIONS: Record<string, readonly string[]> = {
  Query: ['team', 'teams', 'viewer', 'webhook', 'webhooks'],
  Mutation: ['webhookCreate', 'webhookDelete', 'webhookUpdate'],
};

/** The types of their arguments and results. Fields of other types are left out. */
const KEPT = [
  ...['ArchivePayload', 'DeletePayload', 'Node', 'PageInfo', 'PaginationOrderBy', 'User'],
  ...['Team', 'TeamConnection', 'TeamEdge', 'TeamVisibility', 'TeamFilter'],
  ...['BooleanComparator', 'IdComparator', 'StringComparator', 'TeamVisibilityComparator'],
  ...['Webhook', 'WebhookConnection', 'WebhookCreateInput', 'WebhookEdge', 'WebhookPayload'],
  'WebhookUpdateInput',
];
const INTERFACES = ['ArchivePayload', 'Node'];
const OWN_SCALARS = ['DateTime', 'JSONObject'];
const SCALARS = ['Boolean', 'Float', 'ID', 'Int', 'String', ...OWN_SCALARS];

/** A declaration: the text before its braces, and the lines within. */
interface Declaration {
  head: string;
  lines: string[];
}

/** The schema in GraphQL's own language, with its origin. */
export async function extractSchema(): Promise<string> {
  const declarations = await readDeclarations();
  const types = ['Query', 'Mutation', ...KEPT].map((name) => definition(name, declarations));
  const scalars = OWN_SCALARS.map((name) => `scalar ${name}`);
  const schema = buildSchema([...scalars, ...types].join('\n').replaceAll('IdComparator', 'IDComparator'));
  const origin = `# An extract of Linear's GraphQL schema, from the types of @linear/sdk ${version} (MIT, Copyright Linear Orbit, Inc.).`;
  return `${origin}\n# Written by test/support/linear-api/extract-schema.ts.\n\n${printSchema(lexicographicSortSchema(schema))}\n`;
}

async function readDeclarations(): Promise<Map<string, Declaration>> {
  const folder = join(root, 'node_modules/@linear/sdk/dist');
  const declarations = new Map<string, Declaration>();
  for await (const file of new Bun.Glob('index-*.d.mts').scan(folder)) {
    const text = await Bun.file(join(folder, file)).text();
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

if (import.meta.main) await Bun.write(SCHEMA_FILE, await extractSchema());

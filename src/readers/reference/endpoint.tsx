import { STATUS_CODES } from 'node:http';
import type { ComponentChild, ComponentChildren } from 'preact';
import type { Header, Operation, Response } from './page.tsx';
import { CopyButton, type Delivery, type ReadRequest, Samples } from './samples/tabs.tsx';

// JSON for reading. Changes white space alone: every name and value stands as it was sent.

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/gs;

/** Characters that reorder the text around them. JSON can write them as escapes. */
const REORDERING = /[\u202a-\u202e\u2066-\u2069]/g;

/** Further tokens have no color, because each takes an element. */
const MAX_COLORED = 5_000;

export function Json({ text }: { text: string }) {
  return <>{format(text)}</>;
}

function format(text: string): ComponentChild[] {
  const tokens = text.match(TOKEN) ?? [];
  const parts: ComponentChild[] = [];
  let plain = '';
  let depth = 0;
  tokens.forEach((token, index) => {
    const next = tokens[index + 1] ?? '';
    const newLine = () => `\n${'  '.repeat(depth)}`;
    if (token === '{' || token === '[') {
      if (next !== '}' && next !== ']') depth++;
      plain += next === '}' || next === ']' ? token : token + newLine();
    } else if (token === '}' || token === ']') {
      const isEmpty = /[[{]$/.test(tokens[index - 1] ?? '');
      if (!isEmpty) depth--;
      plain += isEmpty ? token : newLine() + token;
    } else if (token === ',') plain += token + newLine();
    else if (token === ':') plain += ': ';
    else {
      const value = token.replaceAll(REORDERING, (each) => `\\u${each.charCodeAt(0).toString(16)}`);
      if (index > MAX_COLORED) plain += value;
      else {
        parts.push(plain, <span class={kindOf(token, next)}>{value}</span>);
        plain = '';
      }
    }
  });
  return [...parts, plain];
}

function kindOf(token: string, next: string): string {
  if (next === ':') return 'key';
  return token.startsWith('"') ? 'string' : 'literal';
}

export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  description?: string;
  examples?: unknown[];
}

/** A parameter, header or field. `about`: what it belongs to, for the search. */
export function Field({
  id,
  name,
  schema,
  note,
  about,
}: {
  id: string;
  name: string;
  schema: Schema;
  note?: string | undefined;
  about: string;
}) {
  return (
    <div id={id} data-find={about} data-title={name}>
      <dt>
        <a class="name" href={`#${id}`}>
          <code>{name}</code>
        </a>
        {note ? <small>{note}</small> : null}
      </dt>
      <dd>
        <TypeName schema={schema} />
        {bounds(schema)}
        {schema.description === undefined ? null : <p>{words(schema.description)}</p>}
      </dd>
    </div>
  );
}

const nameOf = ($ref: string) => $ref.slice($ref.lastIndexOf('/') + 1);

function TypeName({ schema }: { schema: Schema }) {
  const { $ref, enum: choices, anyOf, items, type } = schema;
  if ($ref !== undefined) return <a href={`#schema-${nameOf($ref)}`}>{nameOf($ref)}</a>;
  if (choices !== undefined) return <>{joined(choices.map(inCode), ' or ')}</>;
  if ('const' in schema) return inCode(JSON.stringify(schema.const));
  const types = anyOf?.map((each) => <TypeName schema={each} />);
  if (types !== undefined) return <>{joined(types, ' or ')}</>;
  if (items === undefined) return <>{[type ?? 'anything'].flat().join(' or ')}</>;
  return (
    <>
      list of <TypeName schema={items} />
    </>
  );
}

const inCode = (text: unknown) => <code>{String(text)}</code>;

function joined(parts: readonly ComponentChild[], separator: string): ComponentChild[] {
  return parts.flatMap((part, index) => (index === 0 ? [part] : [separator, part]));
}

function bounds({ minimum = 0, maximum, default: byDefault }: Schema): string {
  const range =
    maximum !== undefined
      ? `, ${minimum} to ${maximum.toLocaleString('en')}`
      : minimum > 0
        ? `, at least ${minimum}`
        : '';
  return byDefault === undefined ? range : `${range}, default ${[byDefault].flat().join(', ')}`;
}

/** Renders `code` in back quotes, the only Markdown in descriptions. */
export function words(text: string): ComponentChild[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? inCode(part) : part));
}

const places = { path: 'Path parameters', query: 'Query parameters', header: 'Request headers' } as const;

export function Endpoint({
  request,
  schemas,
  ...operation
}: Operation & { request: ReadRequest | Delivery; schemas: Readonly<Record<string, Schema>> }) {
  const { operationId: id, summary, method, path, description, parameters = [], responses } = operation;
  return (
    <Article id={id} title={summary} kind="Endpoint">
      <div class="intro">
        <p class="route">
          <span class="method">{method}</span> <code>{path}</code>
        </p>
        <p>{words(description)}</p>
      </div>
      <div class="beside">
        <Samples id={id} request={request} />
        <Success id={id} response={responses['200']} schemas={schemas} />
      </div>
      <div class="details">
        {(['path', 'query', 'header'] as const).map((place) => {
          const fields = parameters.filter((each) => each.in === place);
          return fields.length === 0 ? null : (
            <>
              <h4>{places[place]}</h4>
              <dl class="fields">
                {fields.map(({ name, schema, required }) => (
                  <Field
                    id={`${id}-${name}`}
                    name={name}
                    schema={schema}
                    note={required ? 'required' : ''}
                    about={`${summary}, ${places[place].slice(0, -1).toLowerCase()}`}
                  />
                ))}
              </dl>
            </>
          );
        })}
        <RequestBody {...operation} />
        <h4>Responses</h4>
        <dl class="fields answers">
          {Object.entries(responses).map(([status, response]) => (
            <Answer id={`${id}-${status}`} status={status} about={summary} {...response} />
          ))}
        </dl>
        <ResponseHeaders id={id} about={summary} responses={responses} />
      </div>
    </Article>
  );
}

function Success({
  id,
  response,
  schemas,
}: {
  id: string;
  response: Response | undefined;
  schemas: Readonly<Record<string, Schema>>;
}) {
  const [type, content] = Object.entries(response?.content ?? {})[0] ?? [];
  if (content === undefined) return null;
  const { schema, example } = content;
  const shared = schema.$ref === undefined ? schema.const : schemas[nameOf(schema.$ref)]?.examples?.[0];
  const value = example ?? shared ?? constantsOf(schema);
  if (value === undefined) return null;
  const text = type === 'application/json' ? JSON.stringify(value, null, 2) : String(value);
  return (
    <div class="success">
      <p class="bar">
        <strong class="status ok">200</strong> Response body
      </p>
      <div class="body-text">
        <CopyButton of={`${id}-body`} what="the response body" />
        <pre>
          <code id={`${id}-body`}>{type === 'application/json' ? <Json text={text} /> : text}</code>
        </pre>
      </div>
    </div>
  );
}

/** The value of an object whose fields can have one value only. */
function constantsOf({ properties }: Schema): object | undefined {
  if (properties === undefined) return undefined;
  return Object.fromEntries(Object.entries(properties).map(([name, { const: value }]) => [name, value]));
}

function RequestBody({ operationId: id, summary, requestBody }: Operation) {
  if (requestBody === undefined) return null;
  return (
    <>
      <h4>Request body</h4>
      <dl class="fields">
        {Object.entries(requestBody.content).map(([type, { schema }]) => (
          <Field
            id={`${id}-${type.replace('/', '-')}`}
            name={type}
            schema={schema}
            about={`${summary}, request body`}
          />
        ))}
      </dl>
    </>
  );
}

function Answer({
  id,
  status,
  about,
  description,
  content,
}: Response & { id: string; status: string; about: string }) {
  const [type, body] = Object.entries(content ?? {})[0] ?? [];
  const messages = Object.values(body?.examples ?? {}).map(({ value }) => JSON.stringify(value));
  return (
    <div id={id} data-find={`${about}, response`} data-title={`${status} ${STATUS_CODES[status] ?? ''}`}>
      <dt>
        <a class={`name status${status < '300' ? ' ok' : ''}`} href={`#${id}`}>
          {status}
        </a>
        <small>{STATUS_CODES[status]}</small>
      </dt>
      <dd>
        {description === 'OK' ? null : <>{words(description)} </>}
        {messages.length > 0 ? (
          <ul class="messages">
            {messages.map((message) => (
              <li>{inCode(message)}</li>
            ))}
          </ul>
        ) : body === undefined ? (
          'No body.'
        ) : type === 'text/plain' ? (
          'Plain text.'
        ) : (
          <TypeName schema={body.schema} />
        )}
      </dd>
    </div>
  );
}

/** Every header of the responses, with the statuses that can have it. */
function ResponseHeaders({
  id,
  about,
  responses,
}: {
  id: string;
  about: string;
  responses: Readonly<Record<string, Response>>;
}) {
  const statuses = new Map<string, string[]>();
  const known: Record<string, Header> = {};
  for (const [status, { headers = {} }] of Object.entries(responses)) {
    for (const [name, header] of Object.entries(headers)) {
      statuses.set(name, [...(statuses.get(name) ?? []), status]);
      known[name] ??= header;
    }
  }
  if (statuses.size === 0) return null;
  return (
    <>
      <h4>Response headers</h4>
      <dl class="fields">
        {Object.entries(known).map(([name, { description, schema }]) => (
          <Field
            id={`${id}-response-${name}`}
            name={name}
            schema={{ ...schema, description }}
            note={statuses.get(name)?.join(', ')}
            about={`${about}, response header`}
          />
        ))}
      </dl>
    </>
  );
}

interface Titled {
  id: string;
  title: string;
  children: ComponentChildren;
}

function Anchor({ id, title }: Pick<Titled, 'id' | 'title'>) {
  return (
    <a class="anchor" href={`#${id}`} aria-label={`Link to ${title}`}>
      #
    </a>
  );
}

export function Section({ id, title, children }: Titled) {
  return (
    <section aria-labelledby={`heading-${id}`} id={id} data-find="Section" data-title={title}>
      <div class="heading">
        <h2 id={`heading-${id}`}>{title}</h2>
        <Anchor id={id} title={title} />
      </div>
      {children}
    </section>
  );
}

/** `kind`: its kind for the search. */
export function Article({ id, title, kind, children }: Titled & { kind: string }) {
  return (
    <article id={id} aria-labelledby={`heading-${id}`} data-find={kind} data-title={title}>
      <div class="heading">
        <h3 id={`heading-${id}`}>{title}</h3>
        <Anchor id={id} title={title} />
      </div>
      {children}
    </article>
  );
}

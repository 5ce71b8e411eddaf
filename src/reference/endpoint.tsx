/** @jsxRuntime automatic @jsxImportSource preact */
import { STATUS_CODES } from 'node:http';
import { Json } from './json.tsx';
import { Article } from './layout.tsx';
import type { Header, Operation, Response } from './operations.ts';
import { CopyButton, Samples } from './samples/tabs.tsx';
import type { Delivery, ReadRequest } from './samples/write.ts';
import { Field, inCode, nameOf, type Schema, TypeName, words } from './schema.tsx';

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

/** The body of a success, with the example of its schema. */
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

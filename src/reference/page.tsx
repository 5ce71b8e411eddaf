/** @jsxRuntime automatic @jsxImportSource preact */
import { render } from 'preact-render-to-string';
import css from './page.css' with { type: 'text' };
import { Field, type Schema, TypeName, words } from './schema.tsx';

// The API reference as one HTML page without scripts, fonts or further requests.

/** The page's style sheet in its Content-Security-Policy. */
export const styleHash = `sha256-${new Bun.CryptoHasher('sha256').update(css).digest('base64')}`;

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: Schema;
}

interface Response {
  description: string;
  headers?: Record<string, unknown>;
  content?: Record<string, { schema: Schema; examples?: Record<string, { value: unknown }> }>;
}

interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security?: unknown[];
  parameters?: Parameter[];
  responses: Record<string, Response>;
}

interface Document {
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, unknown>;
  components: { schemas: Record<string, unknown> };
}

interface Endpoint extends Operation {
  method: string;
  path: string;
}

/** The whole page, as HTML. */
export function renderReference(source: Document): string {
  const schemas = source.components.schemas as Record<string, Schema>;
  const endpoints = Object.entries(source.paths).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Operation>).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  );
  const serverUrl = source.servers[0]?.url ?? '';
  const page = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Tidings API reference</title>
        {/* Our own file. Escaping would change the hash in the policy. */}
        <style dangerouslySetInnerHTML={{ __html: css }} />
      </head>
      <body>
        <a class="skip" href="#content">
          Skip to content
        </a>
        <Sidebar tags={source.tags} endpoints={endpoints} schemas={Object.keys(schemas)} />
        <main id="content">
          <header>
            <h1>API reference</h1>
            <p class="lede">{source.info.description}</p>
            <dl class="facts">
              <dt>Base URL</dt>
              <dd>
                <code>{serverUrl}</code>
              </dd>
              <dt>Version</dt>
              <dd>{source.info.version}</dd>
              <dt>Machine-readable</dt>
              <dd>
                <a href="/openapi.json">OpenAPI 3.1.1</a>
              </dd>
            </dl>
          </header>
          <Authentication />
          {source.tags.map((tag) => (
            <section key={tag.name} aria-labelledby={tag.name}>
              <h2 id={tag.name}>{tag.name}</h2>
              <p>{tag.description}</p>
              {endpoints
                .filter((endpoint) => endpoint.tags.includes(tag.name))
                .map((endpoint) => (
                  <EndpointEntry
                    key={endpoint.operationId}
                    {...endpoint}
                    serverUrl={serverUrl}
                    schemas={schemas}
                  />
                ))}
            </section>
          ))}
          <section aria-labelledby="schemas">
            <h2 id="schemas">Schemas</h2>
            {Object.entries(schemas).map(([name, schema]) => (
              <SchemaEntry key={name} name={name} schema={schema} />
            ))}
          </section>
        </main>
      </body>
    </html>
  );
  return `<!doctype html>${render(page)}`;
}

function Sidebar(props: { tags: Document['tags']; endpoints: Endpoint[]; schemas: string[] }) {
  return (
    <aside>
      <a class="mark" href="/docs">
        Tidings
      </a>
      <nav aria-label="Contents">
        <a href="#authentication">Authentication</a>
        {props.tags.map((tag) => (
          <div key={tag.name}>
            <p>{tag.name}</p>
            {props.endpoints
              .filter((endpoint) => endpoint.tags.includes(tag.name))
              .map((endpoint) => (
                <a key={endpoint.operationId} href={`#${endpoint.operationId}`}>
                  {endpoint.summary}
                </a>
              ))}
          </div>
        ))}
        <div>
          <p>Schemas</p>
          {props.schemas.map((name) => (
            <a key={name} href={`#schema-${name}`}>
              {name}
            </a>
          ))}
        </div>
      </nav>
    </aside>
  );
}

function Authentication() {
  return (
    <section aria-labelledby="authentication">
      <h2 id="authentication">Authentication</h2>
      <p>
        Every request under <code>/v1</code> carries an API key of the organization, with the permission{' '}
        <code>api.read</code>:
      </p>
      <Code text="Authorization: Bearer tdk_…" />
      <p>
        Make a key for each site and each environment, and keep it on the server. A key is shown once; a lost
        one is replaced: create a new key, switch to it, delete the old one.
      </p>
    </section>
  );
}

function EndpointEntry(props: Endpoint & { serverUrl: string; schemas: Record<string, Schema> }) {
  const { operationId, summary, method, path, description, parameters, responses, serverUrl, security } =
    props;
  const example = exampleOf(responses['200'], props.schemas);
  return (
    <article id={operationId} aria-labelledby={`${operationId}-title`}>
      <h3 id={`${operationId}-title`}>{summary}</h3>
      <p class="route">
        <span class="method">{method}</span> <code>{path}</code>
      </p>
      <p>{words(description)}</p>
      {method === 'GET' ? <Code text={curlLine(serverUrl, path, security === undefined)} /> : null}
      {parameters === undefined ? null : <Parameters parameters={parameters} />}
      <h4>Answers</h4>
      <ul class="answers">
        {Object.entries(responses).map(([status, response]) => (
          <li key={status}>
            <strong class="status">{status}</strong>
            <div>
              {response.description === 'OK' ? 'The answer:' : words(response.description)}{' '}
              <ResponseBody response={response} />
              <ResponseHeaders names={Object.keys(response.headers ?? {})} />
            </div>
          </li>
        ))}
      </ul>
      {example === undefined ? null : <Code text={JSON.stringify(example, null, 2)} />}
    </article>
  );
}

function Parameters({ parameters }: { parameters: Parameter[] }) {
  return (
    <>
      <h4>Parameters</h4>
      <dl class="fields">
        {parameters.map((parameter) => (
          <Field
            key={parameter.name}
            name={parameter.name}
            schema={parameter.schema}
            note={parameter.required ? `${parameter.in}, required` : parameter.in}
          />
        ))}
      </dl>
    </>
  );
}

function SchemaEntry({ name, schema }: { name: string; schema: Schema }) {
  return (
    <article id={`schema-${name}`} aria-labelledby={`schema-${name}-title`}>
      <h3 id={`schema-${name}-title`}>{name}</h3>
      {schema.description === undefined ? null : <p>{words(schema.description)}</p>}
      <dl class="fields">
        {Object.entries(schema.properties ?? {}).map(([field, value]) => (
          <Field
            key={field}
            name={field}
            schema={value}
            note={schema.required?.includes(field) ? '' : 'optional'}
          />
        ))}
      </dl>
    </article>
  );
}

function ResponseBody({ response }: { response: Response }) {
  const [type, body] = Object.entries(response.content ?? {})[0] ?? [];
  if (body === undefined) return <span class="dim">No body.</span>;
  if (type === 'text/plain') return <span class="dim">Plain text.</span>;
  const messages = Object.values(body.examples ?? {}).map(({ value }) => JSON.stringify(value));
  return messages.length === 0 ? (
    <TypeName schema={body.schema} />
  ) : (
    <span class="messages">
      {messages.map((message) => (
        <code key={message}>{message}</code>
      ))}
    </span>
  );
}

function ResponseHeaders({ names }: { names: string[] }) {
  if (names.length === 0) return null;
  return (
    <span class="dim">
      {' '}
      {names.length === 1 ? 'Header: ' : 'Headers: '}
      {names.map((name, index) => (
        <span key={name}>
          {index > 0 ? ', ' : ''}
          <code>{name}</code>
        </span>
      ))}
      .
    </span>
  );
}

function Code({ text }: { text: string }) {
  return (
    <pre>
      <code>{text}</code>
    </pre>
  );
}

function curlLine(serverUrl: string, path: string, withKey: boolean): string {
  const url = `${serverUrl}${path.replace('{organizationId}', '$ORGANIZATION_ID').replace('{postId}', '$POST_ID')}`;
  return withKey ? `curl -H "Authorization: Bearer $TIDINGS_KEY" \\\n"${url}"` : `curl ${url}`;
}

function exampleOf(response: Response | undefined, schemas: Record<string, Schema>): unknown {
  const ref = response?.content?.['application/json']?.schema.$ref;
  return ref === undefined ? undefined : schemas[ref.slice(ref.lastIndexOf('/') + 1)]?.examples?.[0];
}

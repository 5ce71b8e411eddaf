/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import { render } from 'preact-render-to-string';
import type { OpenApi } from '../http/openapi.ts';
import css from './page.css' with { type: 'text' };
import { Field, inCode, joined, nameOf, type Schema, TypeName, words } from './schema.tsx';

// The API reference as one HTML page without scripts, fonts or further requests.

/** The page's style sheet in its Content-Security-Policy. */
export const styleHash = `sha256-${new Bun.CryptoHasher('sha256').update(css).digest('base64')}`;

interface Response {
  description: string;
  headers?: object;
  content?: Record<string, { schema: Schema; examples?: Record<string, { value: unknown }> }>;
}

interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security?: unknown[];
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[];
  responses: Record<string, Response>;
}

export function renderReference({ info, servers, tags, paths, components }: OpenApi): string {
  const schemas = components.schemas as Record<string, Schema>;
  const endpoints = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Operation>).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  );
  const groups = tags.map((tag) => ({
    ...tag,
    endpoints: endpoints.filter((endpoint) => endpoint.tags.includes(tag.name)),
  }));
  const serverUrl = servers[0]?.url ?? '';
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
        <aside>
          <a class="mark" href="/docs">
            Tidings
          </a>
          <nav aria-label="Contents">
            <a href="#authentication">Authentication</a>
            {groups.map((group) => (
              <Links
                title={group.name}
                links={group.endpoints.map(({ operationId, summary }) => [operationId, summary])}
              />
            ))}
            <Links title="Schemas" links={Object.keys(schemas).map((name) => [`schema-${name}`, name])} />
          </nav>
        </aside>
        <main id="content">
          <header>
            <h1>API reference</h1>
            <p class="lede">{info.description}</p>
            <dl class="facts">
              <dt>Base URL</dt>
              <dd>{inCode(serverUrl)}</dd>
              <dt>Version</dt>
              <dd>{info.version}</dd>
              <dt>Machine-readable</dt>
              <dd>
                <a href="/openapi.json">OpenAPI 3.1.1</a>
              </dd>
            </dl>
          </header>
          <Section id="authentication" title="Authentication">
            <p>
              Every request under <code>/v1</code> carries an API key of the organization, with the permission{' '}
              <code>api.read</code>:
            </p>
            <Code text="Authorization: Bearer tdk_…" />
            <p>
              Create a key for each site and environment, and keep it on the server. Tidings shows a key once.
              If you lose it, create another, switch to it, and delete the old one.
            </p>
          </Section>
          {groups.map((group) => (
            <Section id={group.name} title={group.name}>
              <p>{group.description}</p>
              {group.endpoints.map((endpoint) => (
                <Endpoint {...endpoint} serverUrl={serverUrl} schemas={schemas} />
              ))}
            </Section>
          ))}
          <Section id="schemas" title="Schemas">
            {Object.entries(schemas).map(([name, { description, properties = {}, required = [] }]) => (
              <Entry id={`schema-${name}`} title={name}>
                {description === undefined ? null : <p>{words(description)}</p>}
                <dl class="fields">
                  {Object.entries(properties).map(([field, schema]) => (
                    <Field name={field} schema={schema} note={required.includes(field) ? '' : 'optional'} />
                  ))}
                </dl>
              </Entry>
            ))}
          </Section>
        </main>
      </body>
    </html>
  );
  return `<!doctype html>${render(page)}`;
}

function Links({ title, links }: { title: string; links: [id: string, text: string][] }) {
  return (
    <div>
      <p>{title}</p>
      {links.map(([id, text]) => (
        <a href={`#${id}`}>{text}</a>
      ))}
    </div>
  );
}

function Section({ id, title, children }: { id: string; title: string; children: ComponentChildren }) {
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

function Entry({ id, title, children }: Parameters<typeof Section>[0]) {
  return (
    <article id={id} aria-labelledby={`${id}-title`}>
      <h3 id={`${id}-title`}>{title}</h3>
      {children}
    </article>
  );
}

function Endpoint({
  operationId,
  summary,
  method,
  path,
  description,
  parameters,
  responses,
  security,
  serverUrl,
  schemas,
}: Operation & { method: string; path: string; serverUrl: string; schemas: Record<string, Schema> }) {
  const ref = responses['200']?.content?.['application/json']?.schema.$ref;
  const example = ref === undefined ? undefined : schemas[nameOf(ref)]?.examples?.[0];
  return (
    <Entry id={operationId} title={summary}>
      <p class="route">
        <span class="method">{method}</span> <code>{path}</code>
      </p>
      <p>{words(description)}</p>
      {method === 'GET' ? <Code text={curlLine(serverUrl, path, security === undefined)} /> : null}
      {parameters === undefined ? null : (
        <>
          <h4>Parameters</h4>
          <dl class="fields">
            {parameters.map(({ name, schema, required, in: place }) => (
              <Field name={name} schema={schema} note={required ? `${place}, required` : place} />
            ))}
          </dl>
        </>
      )}
      <h4>Responses</h4>
      <ul class="answers">
        {Object.entries(responses).map(([status, { description, content, headers = {} }]) => (
          <li>
            <strong class="status">{status}</strong>
            <div>
              {description === 'OK' ? 'Returns' : words(description)} <Body content={content} />
              {Object.keys(headers).length === 0 ? null : (
                <span class="dim"> With {joined(Object.keys(headers).map(inCode), ', ')}.</span>
              )}
            </div>
          </li>
        ))}
      </ul>
      {example === undefined ? null : <Code text={JSON.stringify(example, null, 2)} />}
    </Entry>
  );
}

function Body({ content = {} }: { content: Response['content'] | undefined }) {
  const [type, body] = Object.entries(content)[0] ?? [];
  if (body === undefined) return <span class="dim">No body.</span>;
  if (type === 'text/plain') return <span class="dim">Plain text.</span>;
  if (body.examples === undefined) return <TypeName schema={body.schema} />;
  const messages = Object.values(body.examples).map(({ value }) => inCode(JSON.stringify(value)));
  return <span class="messages">{messages}</span>;
}

function Code({ text }: { text: string }) {
  return <pre>{inCode(text)}</pre>;
}

function curlLine(serverUrl: string, path: string, withKey: boolean): string {
  const url = `${serverUrl}${path.replace('{organizationId}', '$ORGANIZATION_ID').replace('{postId}', '$POST_ID')}`;
  return withKey ? `curl -H "Authorization: Bearer $TIDINGS_KEY" \\\n"${url}"` : `curl ${url}`;
}

import { render } from 'preact-render-to-string';
import { sharedStyle, shorten } from '../../http/look/assets.ts';
import type { OpenApi } from '../../http/openapi.ts';
import type { Provider } from '../../providers/provider.ts';
import { Article, Endpoint, Field, type Schema, Section, words } from './endpoint.tsx';
import pageScript from './page.client.js' with { type: 'text' };
import pageStyle from './page.css' with { type: 'text' };
import samplesScript from './samples/samples.client.js' with { type: 'text' };
import samplesStyle from './samples/samples.css' with { type: 'text' };
import { CopyButton, type Delivery, NOW, type ReadRequest } from './samples/tabs.tsx';

// The rules that all endpoints of the content API share.

const guides = {
  authentication: 'Authentication',
  pagination: 'Pagination',
  caching: 'Caching',
  errors: 'Errors and retries',
  limits: 'Rate limits',
} as const;

function Guide() {
  return (
    <>
      <Section id="authentication" title={guides.authentication}>
        <p>
          Send an API key of the organization with every request under <code>/v1</code>. The key needs the
          permission <code>api.read</code>.
        </p>
        <Line id="authorization" text="Authorization: Bearer tdk_…" what="the header" />
        <p>
          Create keys in the dashboard under Settings, API keys. Tidings shows a key once. Use one key for
          each site and environment, and keep it on the server: everybody can read a key in a browser. To
          rotate a key, create another, switch to it, then delete the old one.
        </p>
      </Section>
      <Section id="pagination" title={guides.pagination}>
        <p>
          A list holds <code>limit</code> posts, 10 unless you choose 1 to 100. Follow{' '}
          <code>pagination.nextPage</code> until it is <code>null</code>. A page past the end is an empty list
          with status 200.
        </p>
      </Section>
      <Section id="caching" title={guides.caching}>
        <p>
          Each response has a strong <code>ETag</code>. Send it back in <code>If-None-Match</code>: Tidings
          responds with 304 and no body while the content is the same. <code>Cache-Control</code> is{' '}
          <code>private, no-cache</code>: keep the response, and revalidate it before each use.
        </p>
        <Line id="if-none-match" text={'If-None-Match: "1q3s7k0v2m8xz"'} what="the header" />
        <p>
          Responses from 1.4 KB up are compressed for clients that send <code>Accept-Encoding: gzip</code>.
          The gzip representation has its own <code>ETag</code>; <code>If-None-Match</code> accepts both.
        </p>
      </Section>
      <Section id="errors" title={guides.errors}>
        <p>
          An error is a JSON object with one field. Retry a 5xx after 1, 2 and 4 seconds, or after the seconds
          in <code>Retry-After</code>. Do not retry a 4xx: the same request fails again.
        </p>
        <Line id="error-body" text={'{"error":"Invalid query parameters"}'} what="the body" />
        <p>
          A post that does not exist is not an error: <code>{'{"post":null}'}</code> with status 200. A 500
          has an <code>X-Request-Id</code>, under which the log of Tidings has the cause.
        </p>
      </Section>
      <Section id="limits" title={guides.limits}>
        <p>
          Tidings itself limits no authenticated request. If the organization keeps its keys at Unkey, a key
          can have a limit there. The response is then 429 with <code>Retry-After</code> in seconds and, where
          Unkey sends them, <code>X-RateLimit-Limit</code>, <code>X-RateLimit-Remaining</code> and{' '}
          <code>X-RateLimit-Reset</code> (Unix seconds).
        </p>
      </Section>
    </>
  );
}

function Line({ id, text, what }: { id: string; text: string; what: string }) {
  return (
    <div class="line">
      <CopyButton of={`${id}-text`} what={what} />
      <code id={`${id}-text`}>{text}</code>
    </div>
  );
}

// The operations of the OpenAPI document, and a request for each.

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  schema: Schema;
}

export interface Header {
  description: string;
  schema: Schema;
}

export interface Response {
  description: string;
  headers?: Record<string, Header>;
  content?: Record<
    string,
    { schema: Schema; example?: unknown; examples?: Record<string, { value: unknown }> }
  >;
}

export interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security?: unknown[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, Response>;
  method: string;
  path: string;
}

function operationsOf({ paths }: Pick<OpenApi, 'paths'>): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Omit<Operation, 'method' | 'path'>>).map(
      ([method, operation]) => ({ ...operation, method: method.toUpperCase(), path }),
    ),
  );
}

/** A request with the example of each path parameter. A POST is a delivery of the provider that its path names. */
function exampleRequest(
  { method, path, parameters = [], security, responses }: Operation,
  serverUrl: string,
  providers: readonly Provider[],
): ReadRequest | Delivery {
  const examples = Object.fromEntries(parameters.map(({ name, schema }) => [name, exampleOf(schema)]));
  const url = serverUrl + path.replaceAll(/\{(\w+)\}/g, (_, name) => examples[name] ?? name);
  const provider = providers.find(({ id }) => id === examples.provider);
  if (method === 'POST' && provider !== undefined) return deliveryOf(provider, url);
  const isJson = responses['200']?.content?.['application/json'] !== undefined;
  return { url, headers: [], tokenVariable: security === undefined ? 'TIDINGS_KEY' : null, isJson };
}

function exampleOf({ examples, enum: choices }: Schema): string {
  return String(examples?.[0] ?? choices?.[0] ?? '');
}

/** A ping of a code host. An issue tracker has none: an event that Tidings does not know, with the time it must name. */
function deliveryOf({ headerNames, hasRepositories }: Provider, url: string): Delivery {
  return {
    url,
    headers: [
      ['Content-Type', 'application/json'],
      [headerNames.event, hasRepositories ? 'ping' : 'Comment'],
      [headerNames.delivery, '72d3162e-cc78-11e3-81ab-4c9367dc0958'],
    ],
    body: hasRepositories
      ? '{"zen":"Keep it logically awesome."}'
      : `{"type":"Comment","action":"create","data":{},"webhookTimestamp":${NOW}}`,
    signatureHeader: headerNames.signature,
    signaturePrefix: headerNames.prefix,
  };
}

// The API reference as one HTML page. Reading it needs no script; only typefaces are further requests.

const css = shorten([sharedStyle, pageStyle, samplesStyle].join('\n'));
export const script = samplesScript + pageScript;

/** The page's style sheet in its Content-Security-Policy. */
export const styleHash = `sha256-${new Bun.CryptoHasher('sha256').update(css).digest('base64')}`;

/** Browsers keep the script forever: its path changes with its content. */
export const scriptPath = `/docs/${Bun.hash(script).toString(36)}-reference.js`;

export function renderReference(document: OpenApi, providers: readonly Provider[]): string {
  const { info, servers, tags, components } = document;
  const schemas = components.schemas as Record<string, Schema>;
  const operations = operationsOf(document);
  const groups = tags.map((tag) => ({
    ...tag,
    id: tag.name.toLowerCase(),
    operations: operations.filter((operation) => operation.tags.includes(tag.name)),
  }));
  const serverUrl = servers[0]?.url ?? '';
  const page = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>API reference · Tidings</title>
        {/* Our own file. Escaping would change the hash in the policy. */}
        <style dangerouslySetInnerHTML={{ __html: css }} />
        <script src={scriptPath} defer />
      </head>
      <body>
        <a class="skip" href="#content">
          Skip to content
        </a>
        <header class="side">
          <a class="mark" href="/docs">
            Tidings
          </a>
          <search class="search" data-script hidden>
            <label class="hidden" for="search">
              Search the reference
            </label>
            <input id="search" type="search" placeholder="Search" autoComplete="off" />
            <span class="key-hint" aria-hidden="true">
              /
            </span>
            <p class="hidden" role="status" />
            <ul class="results" hidden />
          </search>
          <details class="menu">
            <summary>Contents</summary>
            <nav aria-label="Contents">
              <Links title="Guide" links={Object.entries(guides)} />
              {groups.map((group) => (
                <Links
                  title={group.name}
                  links={group.operations.map(({ operationId, summary }) => [operationId, summary])}
                />
              ))}
              <Links title="Schemas" links={Object.keys(schemas).map((name) => [`schema-${name}`, name])} />
            </nav>
          </details>
        </header>
        <main id="content">
          <header>
            <h1>API reference</h1>
            <p class="lede">{info.description}</p>
            <dl class="facts">
              <dt>Base URL</dt>
              <dd>
                <Line id="base-url" text={serverUrl} what="the base URL" />
              </dd>
              <dt>Version</dt>
              <dd>{info.version}</dd>
              <dt>For tools</dt>
              <dd>
                <a href="/openapi.json">OpenAPI 3.1.1 document</a>
              </dd>
              <dt>For people</dt>
              <dd>
                <a href="/dashboard">Dashboard</a>, with an API explorer
              </dd>
            </dl>
          </header>
          <Guide />
          {groups.map((group) => (
            <Section id={group.id} title={group.name}>
              <p>{words(group.description)}</p>
              {group.operations.map((operation) => (
                <Endpoint
                  {...operation}
                  request={exampleRequest(operation, serverUrl, providers)}
                  schemas={schemas}
                />
              ))}
            </Section>
          ))}
          <Section id="schemas" title="Schemas">
            {Object.entries(schemas).map(([name, { description, properties = {}, required = [] }]) => (
              <Article id={`schema-${name}`} title={name} kind="Schema">
                {description === undefined ? null : <p>{words(description)}</p>}
                <dl class="fields">
                  {Object.entries(properties).map(([field, schema]) => (
                    <Field
                      id={`schema-${name}-${field}`}
                      name={field}
                      schema={schema}
                      note={required.includes(field) ? '' : 'optional'}
                      about={`${name}, field`}
                    />
                  ))}
                </dl>
              </Article>
            ))}
          </Section>
        </main>
      </body>
    </html>
  );
  return `<!doctype html>${render(page)}`;
}

function Links({ title, links }: { title: string; links: (readonly [id: string, text: string])[] }) {
  return (
    <div>
      <p>{title}</p>
      {links.map(([id, text]) => (
        <a href={`#${id}`}>{text}</a>
      ))}
    </div>
  );
}

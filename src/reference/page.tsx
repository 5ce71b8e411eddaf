/** @jsxRuntime automatic @jsxImportSource preact */
import { render } from 'preact-render-to-string';
import type { OpenApi } from '../http/openapi.ts';
import { shorten } from '../look/assets.ts';
import { sharedStyle } from '../look/style.ts';
import type { Provider } from '../providers/provider.ts';
import { Endpoint } from './endpoint.tsx';
import { Guide, guides, Line } from './guide.tsx';
import { Article, Section } from './layout.tsx';
import { exampleRequest, operationsOf } from './operations.ts';
import pageScript from './page.client.js' with { type: 'text' };
import pageStyle from './page.css' with { type: 'text' };
import samplesScript from './samples/samples.client.js' with { type: 'text' };
import samplesStyle from './samples/samples.css' with { type: 'text' };
import { Field, type Schema, words } from './schema.tsx';

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

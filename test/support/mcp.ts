import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { CreatedKey } from '../../src/people/keys/store.ts';
import { changePublication } from '../../src/readers/public/service.ts';
import { appWithOrganization, type TestApp, type WithOrganization } from './test-app.ts';

/** The app on a port of its own, and clients of its MCP endpoint. */
export interface McpApp extends AsyncDisposable {
  readonly app: TestApp;
  /** The address of the endpoint. */
  readonly url: URL;
  /** A client of the SDK that is connected with a key. */
  connect(key: CreatedKey | string, options?: ClientOptions): Promise<Client>;
  /** Posts a message with a key; `init` wins. */
  post(key: CreatedKey | string | null, body?: BodyInit, init?: RequestInit): Promise<Response>;
}

export const JSON_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

export const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });

/** The organizations `org_a` and `org_b`. The endpoint of `org_a` is on. `before`: replaces each request. */
export async function startMcp(
  overrides: WithOrganization = {},
  before: (request: Request) => Request = (request) => request,
): Promise<McpApp> {
  const app = await appWithOrganization({
    organizations: ['org_a', 'org_b'],
    publicUrl: () => `http://127.0.0.1:${server.port}`,
    ...overrides,
  });
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => app.fetch(before(request)),
    // As in `startServer`.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  });
  await changePublication(app.deps, 'org_a', { isMcpOn: true });
  const url = new URL('/mcp', server.url);
  const clients: Client[] = [];
  const authorization = (key: CreatedKey | string) => `Bearer ${typeof key === 'string' ? key : key.key}`;
  return {
    app,
    url,
    async connect(key, options) {
      const client = new Client({ name: 'test', version: '1.0.0' }, options);
      clients.push(client);
      const requestInit = { headers: { authorization: authorization(key) } };
      const transport = new StreamableHTTPClientTransport(url, { requestInit });
      await client.connect(transport);
      return client;
    },
    post: (key, body = PING, init = {}) =>
      fetch(url, {
        method: 'POST',
        body,
        ...init,
        headers: {
          ...JSON_HEADERS,
          ...(key !== null && { authorization: authorization(key) }),
          ...(init.headers as Record<string, string>),
        },
      }),
    async [Symbol.asyncDispose]() {
      for (const client of clients) await client.close();
      await server.stop(true);
    },
  };
}

/** The result of a tool, which its text repeats, or the message of its refusal. */
export async function call(client: Client, name: string, input: Record<string, unknown> = {}) {
  const { content, structuredContent, isError = false } = await client.callTool({ name, arguments: input });
  const [{ text = '' } = {}] = content as { text?: string }[];
  if (isError) return text;
  if (JSON.stringify(structuredContent) !== text) throw new Error('The text is not the structured content');
  // biome-ignore lint/suspicious/noExplicitAny: tests compare it as a whole.
  return structuredContent as any;
}

import type { OpenApi } from '../../http/openapi.ts';
import type { Provider } from '../../providers/provider.ts';
import type { Schema } from './endpoint.tsx';
import { type Delivery, NOW, type ReadRequest } from './samples/tabs.tsx';

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

export function operationsOf({ paths }: Pick<OpenApi, 'paths'>): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Omit<Operation, 'method' | 'path'>>).map(
      ([method, operation]) => ({ ...operation, method: method.toUpperCase(), path }),
    ),
  );
}

/** A request with the example of each path parameter. A POST is a delivery of the provider that its path names. */
export function exampleRequest(
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

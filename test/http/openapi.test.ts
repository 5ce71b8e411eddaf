import { expect, test } from 'bun:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { providers } from '../../src/providers/index.ts';
import { createTestApp, PUBLIC_URL } from '../support/test-app.ts';

const app = createTestApp();
const source = await (await app.request('/openapi.json')).text();
const document = JSON.parse(source);

/** The values that the path parameter `provider` can have. */
function providerIds(operation: { parameters: { name: string; schema: { enum: string[] } }[] }): string[] {
  return operation.parameters.find(({ name }) => name === 'provider')?.schema.enum ?? [];
}

test('Redocly finds nothing wrong with the document', async () => {
  // The health check refuses nothing.
  const config = await createConfig({ extends: ['recommended'], rules: { 'operation-4xx-response': 'off' } });
  const problems = await lintFromString({ source, config });
  expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
});

test('it is valid by the schema of OpenAPI 3.1', async () => {
  const validator = new Validator();
  expect(await validator.validate(structuredClone(document))).toEqual({ valid: true });
  expect(validator.version).toBe('3.1');
});

test('it says where it is, what it is, and how to authenticate', () => {
  expect(document).toMatchObject({
    openapi: '3.1.1',
    info: { title: 'Tidings', version: expect.stringMatching(/^\d+\.\d+\.\d+$/) },
    servers: [{ url: PUBLIC_URL }],
    security: [{ apiKey: [] }],
    components: { securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } } },
  });
});

test('each operation has an id, every status with its body, and its parameters', () => {
  const list = document.paths['/v1/{organizationId}/posts'].get;
  expect(list.operationId).toBe('listPosts');
  expect(Object.keys(list.responses)).toEqual(['200', '304', '400', '401', '403', '429', '500', '503']);
  expect(list.responses['400'].content['application/json']).toEqual({
    schema: { $ref: '#/components/schemas/Error' },
    examples: { Invalid_query_parameters: { value: { error: 'Invalid query parameters' } } },
  });
  const parameters = Object.fromEntries(list.parameters.map((each: { name: string }) => [each.name, each]));
  expect(parameters).toMatchObject({
    organizationId: { in: 'path', required: true, schema: { type: 'string' } },
    limit: {
      in: 'query',
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: 100, default: 10 },
    },
    page: { in: 'query', schema: { type: 'integer', minimum: 1, default: 1 } },
    sort: { in: 'query', schema: { type: 'string', enum: ['asc', 'desc'], default: 'desc' } },
    status: {
      in: 'query',
      schema: { type: 'array', items: { enum: ['draft', 'published'] }, default: ['published'] },
    },
    contentType: { in: 'query', schema: { type: 'array', items: { enum: ['changelog', 'linkedin_post'] } } },
  });
  // A value given twice counts once.
  expect(source).not.toContain('uniqueItems');
  const one = document.paths['/v1/{organizationId}/posts/{postId}'].get;
  expect(one.operationId).toBe('getPost');
  expect(one.parameters.map(({ name }: { name: string }) => name)).toEqual([
    'organizationId',
    'postId',
    'status',
    'contentType',
    'If-None-Match',
    'X-Request-Id',
  ]);
  expect(document.paths['/ping'].get).toMatchObject({ operationId: 'ping', security: [] });
});

test('the receiver tells its headers, bodies and statuses', () => {
  const receiver =
    document.paths['/api/webhooks/{provider}/{organizationId}/{integrationId}/{repositoryId}'].post;
  expect(receiver).toMatchObject({ operationId: 'receiveWebhook', security: [] });
  const statuses = ['200', '400', '401', '403', '404', '408', '413', '500', '503'];
  expect(Object.keys(receiver.responses)).toEqual(statuses);
  expect(receiver.responses['200'].headers).toBeUndefined();
  expect(Object.keys(receiver.requestBody.content)).toEqual([
    'application/json',
    'application/x-www-form-urlencoded',
  ]);
  const headers = receiver.parameters.filter((each: { in: string }) => each.in === 'header');
  expect(headers.map(({ name }: { name: string }) => name)).toEqual([
    'X-GitHub-Event',
    'X-GitHub-Delivery',
    'X-Hub-Signature-256',
    'X-Gitlab-Event',
    'Idempotency-Key',
    'webhook-signature',
    'webhook-id',
    'webhook-timestamp',
    'X-Gitlab-Token',
    'Linear-Event',
    'Linear-Delivery',
    'Linear-Signature',
    'X-Forgejo-Event',
    'X-Forgejo-Delivery',
    'X-Forgejo-Signature',
    'X-Gitea-Event',
    'X-Gitea-Delivery',
    'X-Gitea-Signature',
  ]);
  expect(providerIds(receiver)).toEqual(providers.map(({ id }) => id));
});

test('the path without a repository is for providers that have none, and for Apps', () => {
  const receiver = document.paths['/api/webhooks/{provider}/{organizationId}/{integrationId}'].post;
  expect(receiver.operationId).toBe('receiveWebhookWithoutRepository');
  expect(providerIds(receiver)).toEqual([
    ...providers.filter(({ hasRepositories }) => !hasRepositories).map(({ id }) => id),
    ...providers.flatMap(({ app }) => app?.path ?? []),
  ]);
  const headers = receiver.parameters.filter((each: { in: string }) => each.in === 'header');
  // None is required of both.
  expect(headers.map(({ name }: { name: string }) => name)).toEqual([
    'Linear-Event',
    'Linear-Delivery',
    'Linear-Signature',
    'X-GitHub-Event',
    'X-GitHub-Delivery',
    'X-Hub-Signature-256',
  ]);
  expect(Object.keys(receiver.requestBody.content)).toEqual(['application/json']);
  expect(JSON.stringify(receiver)).not.toContain('Repository not found');
});

test('headers that clients act upon are documented where they are sent', () => {
  const headersOf = (path: string, method = 'get') =>
    Object.fromEntries(
      Object.entries<{ headers?: object }>(document.paths[path][method].responses).map(
        ([status, { headers = {} }]) => [status, Object.keys(headers)],
      ),
    );
  const limits = ['Retry-After', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
  for (const path of ['/v1/{organizationId}/posts', '/v1/{organizationId}/posts/{postId}']) {
    expect(headersOf(path)).toEqual({
      200: ['ETag', 'Cache-Control'],
      304: ['ETag', 'Cache-Control'],
      400: [],
      401: ['WWW-Authenticate'],
      403: [],
      429: limits,
      500: ['X-Request-Id'],
      503: [...limits, 'X-Request-Id'],
    });
  }
  expect(headersOf('/metrics')).toMatchObject({ 401: ['WWW-Authenticate'] });
  expect(
    headersOf('/api/webhooks/{provider}/{organizationId}/{integrationId}/{repositoryId}', 'post'),
  ).toMatchObject({ 500: ['X-Request-Id'] });
});

test('free-form objects have `additionalProperties: true`, the form that every generator knows', () => {
  const freeForm: string[] = [];
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const schema = value as { type?: unknown; properties?: object; additionalProperties?: unknown };
    expect(schema, path).not.toHaveProperty('patternProperties');
    const isObject = [schema.type].flat().includes('object');
    if (isObject && schema.properties === undefined) {
      expect(schema.additionalProperties, path).toBe(true);
      freeForm.push(path.slice(path.lastIndexOf('.') + 1));
    }
    for (const [name, each] of Object.entries(value)) walk(each, `${path}.${name}`);
  };
  walk(document, '');
  expect(freeForm).toEqual(['schema', 'schema', 'sourceMetadata', 'data']);
});

test('the shared schemas are real ones', () => {
  expect(Object.keys(document.components.schemas)).toEqual([
    'Post',
    'Pagination',
    'PostList',
    'PostResult',
    'WebhookReceived',
    'Error',
  ]);
  expect(document.components.schemas.Post).toMatchObject({
    type: 'object',
    required: [
      'id',
      'title',
      'content',
      'markdown',
      'contentType',
      'sourceMetadata',
      'status',
      'createdAt',
      'updatedAt',
    ],
    properties: {
      contentType: { type: 'string', enum: ['changelog', 'linkedin_post'] },
      sourceMetadata: { type: ['object', 'null'], additionalProperties: true },
      createdAt: { type: 'string', format: 'date-time' },
    },
  });
  expect(document.components.schemas.Pagination.properties).toMatchObject({
    nextPage: {
      type: ['integer', 'null'],
      minimum: 1,
      description: expect.stringContaining('Null on the last page'),
    },
    previousPage: {
      type: ['integer', 'null'],
      minimum: 1,
      description: expect.stringContaining('Null on the first page'),
    },
  });
  expect(document.components.schemas.PostList.properties.posts).toEqual({
    type: 'array',
    items: { $ref: '#/components/schemas/Post' },
  });
});

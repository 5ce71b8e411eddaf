import { type AnyElysia, Elysia } from 'elysia';
import { buildOpenApi, ErrorBody } from '../../http/openapi.ts';
import { asset, publicContent, redirect, rendered } from '../../http/respond.ts';
import { WebhookReceived } from '../../integrations/deliveries/store.ts';
import { lazily } from '../../lib/bounded-map.ts';
import type { Deps } from '../../people/deps.ts';
import { Pagination, Post, PostList, PostResult } from '../../posts/model.ts';
import { providers } from '../../providers/index.ts';
import { renderReference, script, scriptPath, styleHash } from './page.tsx';

const models = { Post, Pagination, PostList, PostResult, WebhookReceived, Error: ErrorBody };

const PAGE_POLICY = `default-src 'none'; style-src '${styleHash}'; script-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** `GET /openapi.json`, and `GET /docs` for people. Both are built at the first request and kept. */
export function docs({ publicUrl }: Pick<Deps, 'publicUrl'>, routes: AnyElysia['routes']) {
  const load = lazily(async () => {
    const document = buildOpenApi(routes, models, publicUrl());
    const json = rendered(Buffer.from(JSON.stringify(document, null, 2)));
    return { json, page: rendered(Buffer.from(renderReference(document, providers))) };
  });
  const scriptFile = rendered(Buffer.from(script), undefined, 9);

  return new Elysia({ name: 'docs' })
    .get('/', () => redirect('/dashboard'))
    .get('/openapi.json', async ({ request }) =>
      publicContent(request, (await load()).json, { 'content-type': 'application/json' }),
    )
    .get('/docs', async ({ request }) =>
      publicContent(request, (await load()).page, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': PAGE_POLICY,
      }),
    )
    .get(scriptPath, ({ request }) => asset(request, scriptFile, 'text/javascript; charset=utf-8'));
}

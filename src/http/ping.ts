import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { plainText } from './respond.ts';

/** `GET /ping`: the health check (section 4.3 of the spec). Needs no key and reads nothing. */
export const ping = new Elysia({ name: 'ping' }).get('/ping', () => plainText('pong'), {
  // Not a literal: Orval assigns the text of any response to it, which does not compile.
  response: { 200: Type.String({ description: 'The server is up.', examples: ['pong'] }) },
  detail: {
    operationId: 'ping',
    tags: ['Health'],
    summary: 'Health check',
    description: 'Returns `pong` while the process runs. Needs no key.',
    security: [],
  },
});

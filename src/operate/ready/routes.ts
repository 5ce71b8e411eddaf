import { Elysia } from 'elysia';
import { documented, refusal } from '../../http/openapi.ts';
import { errorJson, json } from '../../http/respond.ts';

const READY = {
  type: 'object',
  properties: { ready: { type: 'boolean', const: true } },
  required: ['ready'],
  additionalProperties: false,
};

/** `GET /ready`: whether requests should be sent here. `whyNot` says why not, in words. Needs no key. */
export function ready(whyNot: () => string | null) {
  return new Elysia({ name: 'ready' }).get(
    '/ready',
    () => {
      const problem = whyNot();
      return problem === null ? json({ ready: true }) : errorJson(503, problem);
    },
    {
      detail: documented({
        operationId: 'ready',
        tags: ['Health'],
        summary: 'Readiness',
        description:
          'Whether requests should be sent here: the database takes writes, there is room on the disk, deliveries do not fail, the triggers work, and the server is not stopping. `/ping` answers as long as the process lives.',
        security: [],
        responses: {
          200: {
            description: 'The service is ready.',
            content: { 'application/json': { schema: READY } },
          },
          503: refusal('It is not, for this reason.', ['The server is stopping', 'The disk is full']),
        },
      }),
    },
  );
}

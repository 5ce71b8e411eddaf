import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { type Audit, audit, isPassed } from './audit.ts';
import { root } from './server.ts';
import { holdDeadAddress } from './unkey/faults.ts';

/** A registry's response: the advisories of the requested packages. */
const advisories = (name: string, severity: string) => async (request: Request) => {
  const asked: Record<string, string[]> = JSON.parse(
    new TextDecoder().decode(Bun.gunzipSync(await request.bytes())),
  );
  const advisory = {
    id: 1,
    url: 'https://github.com/advisories/GHSA-test',
    title: 'Anybody can do anything',
    severity,
    vulnerable_versions: '<9999',
    cwe: [],
    cvss: { score: 0, vectorString: null },
  };
  return Response.json(name in asked ? { [name]: [advisory] } : {});
};

type Answer = (request: Request) => Response | Promise<Response>;

async function auditAt(answer: Answer, timeoutMs?: number) {
  const asked: string[] = [];
  using registry = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      asked.push(new URL(request.url).pathname);
      return answer(request);
    },
  });
  const environment = { ...process.env, BUN_CONFIG_REGISTRY: registry.url.href };
  const result = await audit(environment, timeoutMs);
  if (timeoutMs === undefined)
    expect(new Set(asked)).toEqual(new Set(['/-/npm/v1/security/advisories/bulk']));
  return result;
}

test.each(['high', 'critical'])(
  'an advisory of %s severity in a production dependency fails',
  async (severity) => {
    const result = await auditAt(advisories('elysia', severity));
    expect(result.advisories).toBe('affected');
    expect([isPassed(result, false), isPassed(result, true)]).toEqual([false, false]);
    const { text } = result;
    expect(text).toContain('elysia@');
    expect(text).toContain(`${severity}: Anybody can do anything`);
  },
);

test.each<[string, Answer]>([
  ['no advisories', () => Response.json({})],
  ['one of moderate severity', advisories('elysia', 'moderate')],
  ['one of a development dependency', advisories('knip', 'critical')],
])('%s passes', async (_, answer) => {
  const result = await auditAt(answer);
  expect(result).toEqual({
    advisories: 'none',
    text: 'Dependency audit: no advisories of high severity',
  });
  expect([isPassed(result, false), isPassed(result, true)]).toEqual([true, true]);
});

const unknown = (reason: string): Audit => ({
  advisories: 'unknown',
  text: `Dependency audit: advisories are unknown, because ${reason}`,
});

test.each<[string, Answer, string]>([
  [
    'no such endpoint',
    () => new Response('not found', { status: 404 }),
    'the registry offers no advisories (status 404)',
  ],
  [
    'a wrong method',
    () => new Response(null, { status: 405 }),
    'the registry offers no advisories (status 405)',
  ],
  ['a page', () => new Response('<!doctype html>'), 'the registry sent something else than advisories'],
  ['another shape', () => Response.json(['elysia']), 'the registry sent something else than advisories'],
])('with %s the advisories are unknown, which fails a release', async (_, answer, reason) => {
  const result = await auditAt(answer);
  expect(result).toEqual(unknown(reason));
  expect([isPassed(result, false), isPassed(result, true)]).toEqual([true, false]);
});

test('so are those of a registry that cannot be reached or never answers', async () => {
  using dead = await holdDeadAddress();
  expect(await audit({ ...process.env, BUN_CONFIG_REGISTRY: dead.url })).toEqual(
    unknown('the registry cannot be reached (ConnectionRefused)'),
  );
  expect(await auditAt(() => Promise.withResolvers<Response>().promise, 1)).toEqual(
    unknown('the registry did not answer within 0.001 s'),
  );
});

test('only --release fails the command', async () => {
  using dead = await holdDeadAddress();
  const run = async (...words: string[]) => {
    const env = { ...process.env, BUN_CONFIG_REGISTRY: dead.url };
    const command = Bun.spawn([process.execPath, join(root, 'test/support/audit.ts'), ...words], { env });
    return { text: await new Response(command.stdout).text(), exitCode: await command.exited };
  };
  const text =
    'Dependency audit: advisories are unknown, because the registry cannot be reached (ConnectionRefused)\n';
  expect(await run()).toEqual({ text, exitCode: 0 });
  expect(await run('--release')).toEqual({ text, exitCode: 1 });
});

import { expect, test } from 'bun:test';
import { audit } from './audit.ts';
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

const none = 'Dependency audit: no advisories of high severity';

test.each(['high', 'critical'])(
  'an advisory of %s severity in a production dependency fails',
  async (severity) => {
    const { isAffected, text } = await auditAt(advisories('elysia', severity));
    expect(isAffected).toBe(true);
    expect(text).toContain('elysia@');
    expect(text).toContain(`${severity}: Anybody can do anything`);
  },
);

test.each<[string, Answer, string]>([
  ['no advisories', () => Response.json({}), none],
  ['one of moderate severity', advisories('elysia', 'moderate'), none],
  ['one of a development dependency', advisories('knip', 'critical'), none],
  [
    'no such endpoint',
    () => new Response('not found', { status: 404 }),
    'Dependency audit skipped: the registry offers no advisories (status 404)',
  ],
  [
    'a wrong method',
    () => new Response(null, { status: 405 }),
    'Dependency audit skipped: the registry offers no advisories (status 405)',
  ],
  [
    'a page',
    () => new Response('<!doctype html>'),
    'Dependency audit skipped: the registry sent something else than advisories',
  ],
  [
    'another shape',
    () => Response.json(['elysia']),
    'Dependency audit skipped: the registry sent something else than advisories',
  ],
])('%s does not fail', async (_, answer, text) => {
  expect(await auditAt(answer)).toEqual({ isAffected: false, text });
});

test('nor does a registry that cannot be reached or never answers', async () => {
  using dead = await holdDeadAddress();
  expect(await audit({ ...process.env, BUN_CONFIG_REGISTRY: dead.url })).toEqual({
    isAffected: false,
    text: 'Dependency audit skipped: the registry cannot be reached (ConnectionRefused)',
  });
  expect(await auditAt(() => Promise.withResolvers<Response>().promise, 1)).toEqual({
    isAffected: false,
    text: 'Dependency audit skipped: the registry did not answer within 0.001 s',
  });
});

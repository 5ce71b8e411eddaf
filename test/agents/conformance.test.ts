import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/cli.ts';
import { startMcp } from '../support/mcp.ts';
import { root } from '../support/server.ts';

// The official conformance suite, against the endpoint. It cannot send a key, so each of its requests gets one.

const passing = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'];

/** Scenarios that do not apply, by reason. */
const leftOut = {
  'calls a fixture tool of the suite, such as test_simple_text': [
    'tools-call-simple-text',
    'tools-call-image',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
    'tools-call-with-logging',
    'tools-call-error',
    'tools-call-with-progress',
    'tools-call-sampling',
    'tools-call-elicitation',
    'json-schema-2020-12',
    'elicitation-sep1034-defaults',
    'elicitation-sep1330-enums',
  ],
  'needs sessions and open streams; Tidings has neither': [
    'server-sse-polling',
    'server-sse-multiple-streams',
  ],
  'needs the capability "resources", which Tidings does not declare': [
    'resources-list',
    'resources-read-text',
    'resources-read-binary',
    'resources-templates-read',
    'resources-subscribe',
    'resources-unsubscribe',
  ],
  'needs the capability "prompts" or "completions", which Tidings does not declare': [
    'prompts-list',
    'prompts-get-simple',
    'prompts-get-with-args',
    'prompts-get-embedded-resource',
    'prompts-get-with-image',
    'completion-complete',
  ],
  'needs the capability "logging", which Tidings does not declare': ['logging-set-level'],
};

interface Check {
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO';
  errorMessage?: string;
}

const results = new Map<string, Check[]>();
const output = temporaryFolder();

beforeAll(async () => {
  let key = '';
  await using mcp = await startMcp({}, (request) => {
    request.headers.set('authorization', `Bearer ${key}`);
    return request;
  });
  key = (await mcp.app.addKey('org_a')).key;
  const suite = join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
  const words = ['server', '--url', String(mcp.url), '--suite', 'all', '-o', output.path];
  // Not `spawnSync`: the endpoint runs in this process.
  const run = Bun.spawn([process.execPath, suite, ...words], { stdout: 'ignore', stderr: 'ignore' });
  await run.exited;
  for (const folder of readdirSync(output.path)) {
    const [, scenario = folder] = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(folder) ?? [];
    results.set(scenario, await Bun.file(join(output.path, folder, 'checks.json')).json());
  }
});

afterAll(() => output.remove());

test.each(passing)('the scenario %s passes', (scenario) => {
  const checks = results.get(scenario) ?? [];
  expect(checks.length).toBeGreaterThan(0);
  expect(checks.filter(({ status }) => status !== 'SUCCESS')).toEqual([]);
});

test('every other scenario is left out for a reason', () => {
  const listed = [...passing, ...Object.values(leftOut).flat()];
  expect([...results.keys()].sort()).toEqual(listed.sort());
});

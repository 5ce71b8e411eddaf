import { afterEach, beforeEach, describe, expect, jest, test } from 'bun:test';
import { DatabaseBusy, DatabaseUnavailable, isSystemFailure } from '../../db/failures.ts';
import { createLog, describeError } from '../../src/lib/log.ts';
import { root } from '../support/server.ts';

/** The parsed output of one log call. */
function line(given: object): Record<string, unknown> {
  const lines: string[] = [];
  createLog('debug', { write: (each) => void lines.push(each) }).info(given, 'said');
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0] ?? '');
}

describe('an error', () => {
  test('is logged with type, message, stack and causes', () => {
    const cause = Object.assign(new Error('the cause'), { code: 'EIO' });
    const { err } = line({ err: new TypeError('the failure', { cause }) }) as {
      err: { stack: string; cause: { stack: string } };
    };
    expect(err.stack).toContain('log.test.ts');
    expect(err.cause.stack).toContain('log.test.ts');
    expect(err).toMatchObject({
      type: 'TypeError',
      message: 'the failure',
      cause: { type: 'Error', message: 'the cause', code: 'EIO' },
    });
  });

  test('is logged without the properties that a library adds', () => {
    const carried = {
      headers: { authorization: 'Bearer planted' },
      body: 'planted',
      request: { key: 'planted' },
    };
    const error = Object.assign(new Error('failed'), carried, { statusCode: 502 });
    expect(JSON.stringify(line({ err: new Error('outer', { cause: error }) }))).not.toContain('planted');
    expect(describeError(error).status).toBe(502);
  });

  test('with endless causes, or of any length, comes to an end', () => {
    const error = new Error('x'.repeat(1_000_000));
    error.cause = error;
    expect(JSON.stringify(describeError(error)).length).toBeLessThan(200_000);
  });

  test.each([undefined, null, 'a text', 7, { any: 'thing' }])('that is none, such as %p', (thrown) => {
    expect(describeError(thrown).message).toBe(String(thrown));
  });
});

test.each([
  ['key tdk_6kTabcdefghijk is bad', 'key tdk_6kTa… is bad'],
  ['Authorization: Bearer abc.def-ghi', 'Authorization: Bearer …'],
  ['authorization: basic dXNlcjpwYXNz', 'authorization: basic …'],
  ['GET https://x.test/setup?token=abc123&to=/', 'GET https://x.test/setup?token=…&to=/'],
  ['x?a=1&secret=abc', 'x?a=1&secret=…'],
  [`sha256=${'ab'.repeat(32)} differs`, 'sha256=… differs'],
  ['ghp_abcDEF123 github_pat_11AA_bb lin_api_abc unkey_3Zabc', 'ghp_… github_pat_… lin_api_… unkey_…'],
  ['cookie tidings_session=abc; x=1', 'cookie tidings_session=…; x=1'],
  ['\u001b[2Jclear\u0000\u009bm', '[2Jclearm'],
  ['two\n\tlines', 'two\n\tlines'],
  ['SQLITE_FULL: database or disk is full', 'SQLITE_FULL: database or disk is full'],
])('the message %j is logged as %j', (message, told) => {
  expect(describeError(new Error(message)).message).toBe(told);
});

test.each([
  'authorization',
  'cookie',
  'set-cookie',
  'headers',
  'body',
  'form',
  'key',
  'rootKey',
  'secret',
  'secretKey',
  'token',
  'metricsToken',
  'password',
  'signature',
])('a value named %s is not written down, at any depth', (name) => {
  expect(line({ [name]: 'planted', other: 1 })).toMatchObject({ [name]: '[redacted]', other: 1 });
  expect(line({ request: { [name]: { deep: 'planted' } } })).toMatchObject({
    request: { [name]: '[redacted]' },
  });
  expect(line({ list: [{ of: { [name]: 'planted' } }] })).toMatchObject({
    list: [{ of: { [name]: '[redacted]' } }],
  });
});

test.each([
  new (class Credential {
    token = 'planted';
  })(),
  Object.assign(Object.create(null), { token: 'planted' }),
  new Headers({ authorization: 'planted' }),
])('a secret is not written down either when it is in %p', (about) => {
  const written = JSON.stringify(line({ about }));
  expect(written).toContain('[redacted]');
  expect(written).not.toContain('planted');
});

describe('LOG_FORMAT', () => {
  const program = `
    import { openLog } from '${root}/src/lib/log.ts';
    const log = await openLog({ logLevel: 'info', logFormat: Bun.argv.at(-1) });
    log.error({ err: new Error('bad'), requestId: 'req_1' }, 'failed');
    process.exit(0);`;

  /** The log's output in a process of its own; its standard error is a terminal if one is given. */
  async function written(format: string, terminal?: Bun.TerminalOptions): Promise<string> {
    const command = [process.execPath, '-e', program, format];
    if (terminal !== undefined) {
      const chunks: string[] = [];
      const decoder = new TextDecoder();
      const child = Bun.spawn(command, {
        terminal: {
          ...terminal,
          data: (_, chunk) => void chunks.push(decoder.decode(chunk, { stream: true })),
        },
      });
      await child.exited;
      child.terminal?.close();
      return chunks.join('');
    }
    const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'pipe' });
    expect(await new Response(child.stdout).text()).toBe('');
    return new Response(child.stderr).text();
  }

  test.each(['json', 'auto'])('%s is JSON lines where nobody looks', async (format) => {
    const parsed = JSON.parse(await written(format));
    expect(parsed).toMatchObject({
      level: 'error',
      requestId: 'req_1',
      msg: 'failed',
      err: { message: 'bad' },
    });
    expect(parsed.time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  test('pretty is for people, without colours in a file, and written before the process ends', async () => {
    const text = await written('pretty');
    expect(text).toMatch(/^\[[\d:.]+\] ERROR: failed \{"requestId":"req_1"\}/);
    expect(text).toContain('Error: bad');
    expect(text).not.toContain('\u001b');
  });

  test.each([
    ['on a full disk', '2>/dev/full'],
    ['whose reader is gone', '2>&1 >&3 | true'],
  ])('a log %s ends no work', (_, redirection) => {
    // More than a pipe holds, so it is written until the reader is gone.
    const busy = `
      import { openLog } from '${root}/src/lib/log.ts';
      const log = await openLog({ logLevel: 'info', logFormat: 'json' });
      log.error('x'.repeat(200_000));
      console.log('worked');`;
    const script = `exec 3>&1; "$0" -e "$1" ${redirection}`;
    const { stdout } = Bun.spawnSync(['sh', '-c', script, process.execPath, busy]);
    expect(stdout.toString()).toBe('worked\n');
  });

  test('auto is pretty on a terminal, and json is not', async () => {
    expect(await written('auto', {})).toContain('\u001b[31mERROR\u001b[39m');
    expect(await written('json', {})).toStartWith('{"level":"error"');
  });
});

describe('a failure of the system', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  function openLog() {
    const lines: Record<string, unknown>[] = [];
    const write = (line: string) => void lines.push(JSON.parse(line));
    const log = createLog('debug', { write }, { base: { process: 'a' }, isOutage: isSystemFailure });
    return { log, take: () => lines.splice(0) };
  }

  test('is logged once for each cause, and then once a minute with a count', () => {
    const { log, take } = openLog();
    const away = () => new DatabaseUnavailable(new Error('refused'));
    for (let request = 0; request < 479; request++)
      log.error({ err: away(), requestId: request }, 'not logged');
    expect(take()).toMatchObject([
      { process: 'a', level: 'error', requestId: 0, err: { type: 'DatabaseUnavailable' } },
    ]);
    jest.advanceTimersByTime(59_999);
    expect(take()).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(take()).toMatchObject([{ count: 478, requestId: 478, msg: 'not logged' }]);
    log.error({ err: away(), requestId: 479 }, 'not logged');
    expect(take()).toEqual([]);
    jest.advanceTimersByTime(60_000);
    expect(take()).toMatchObject([{ count: 1, requestId: 479 }]);
    // A minute without one ends it: the next outage is logged at once.
    jest.advanceTimersByTime(60_000);
    expect(take()).toEqual([]);
    log.error({ err: away() }, 'not logged');
    expect(take()).toHaveLength(1);
  });

  test.each<[string, (number: number) => { err: Error; job?: string; msg: string }]>([
    ['another message', (at) => ({ err: new DatabaseBusy(), msg: `${at}` })],
    ['another job', (at) => ({ err: new DatabaseBusy(), job: `${at}`, msg: 'failed' })],
    [
      'another failure',
      (at) => ({ err: at === 0 ? new DatabaseBusy() : new DatabaseUnavailable(null), msg: 'failed' }),
    ],
    [
      'another cause',
      (at) => ({
        err: new DatabaseUnavailable(Object.assign(new Error(), { code: `${at}` })),
        msg: 'failed',
      }),
    ],
    [
      'a failure that is none of the system, with an id to find it by',
      () => ({ err: new Error(), msg: 'failed' }),
    ],
  ])('is logged beside %s', (_, line) => {
    const { log, take } = openLog();
    for (const at of [0, 1]) {
      const { msg, ...fields } = line(at);
      log.warn(fields, msg);
    }
    expect(take()).toHaveLength(2);
  });
});

import { describe, expect, test } from 'bun:test';
import { ConfigError, readConfig } from '../src/config.ts';

test('defaults, with nothing set', () => {
  expect(readConfig({}, {})).toEqual({
    host: '127.0.0.1',
    port: 3000,
    dataDir: './data',
    providerApis: { github: 'https://api.github.com', linear: 'https://api.linear.app/graphql' },
    logLevel: 'info',
    logFormat: 'auto',
  });
});

test('everything from the environment', () => {
  expect(
    readConfig(
      {},
      {
        HOST: '::1',
        PORT: '0',
        PUBLIC_URL: 'https://tidings.example.com/base/',
        DATA_DIR: '/data',
        SECRET_KEY: 'q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s=',
        UNKEY_ROOT_KEY: 'unkey_root',
        UNKEY_API_ID: 'api_1',
        UNKEY_BASE_URL: 'http://localhost:9',
        UNKEY_TIMEOUT_MS: '50',
        GITHUB_API_URL: 'https://github.example.com/api/v3/',
        LINEAR_API_URL: 'http://localhost:8/graphql',
        LOG_LEVEL: 'silent',
        LOG_FORMAT: 'json',
        METRICS_TOKEN: 'a-token-of-sixteen',
      },
    ),
  ).toEqual({
    host: '::1',
    port: 0,
    publicUrl: 'https://tidings.example.com/base',
    dataDir: '/data',
    secretKey: 'q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s=',
    unkey: { rootKey: 'unkey_root', apiId: 'api_1', baseUrl: 'http://localhost:9', timeoutMs: 50 },
    providerApis: { github: 'https://github.example.com/api/v3', linear: 'http://localhost:8/graphql' },
    logLevel: 'silent',
    logFormat: 'json',
    metricsToken: 'a-token-of-sixteen',
  });
});

test('flags win over the environment; what is empty is unset', () => {
  expect(
    readConfig({ PORT: '1', HOST: undefined }, { PORT: '2', HOST: '0.0.0.0', LOG_LEVEL: '' }),
  ).toMatchObject({
    port: 1,
    host: '0.0.0.0',
    logLevel: 'info',
  });
});

describe('a wrong value is refused by the name of its variable', () => {
  test.each([
    ['PORT', '65536', 'PORT must be a port number from 0 to 65535 (0 picks a free one), not "65536"'],
    ['PORT', '-1', 'PORT must be'],
    ['PORT', '80.5', 'PORT must be'],
    ['PORT', 'http', 'PORT must be'],
    ['HOST', 'a b', 'HOST must be an address'],
    ['PUBLIC_URL', 'tidings.example.com', 'PUBLIC_URL must be an http or https URL'],
    ['PUBLIC_URL', 'javascript:alert(1)', 'PUBLIC_URL must be'],
    ['PUBLIC_URL', 'https://x.test/?a', 'PUBLIC_URL must be'],
    ['UNKEY_TIMEOUT_MS', '0', 'UNKEY_TIMEOUT_MS must be a number of milliseconds from 1 to 60000, not "0"'],
    ['UNKEY_BASE_URL', 'https://x.test/v2', 'UNKEY_BASE_URL must be an http or https URL without a path'],
    ['GITHUB_API_URL', 'github.example.com', 'GITHUB_API_URL must be an http or https URL'],
    ['LOG_FORMAT', 'text', 'LOG_FORMAT must be one of auto, json, pretty, not "text"'],
    ['LOG_LEVEL', 'verbose', 'LOG_LEVEL must be one of debug, info, warn, error, silent, not "verbose"'],
  ])('%s=%s', (name, value, message) => {
    expect(() => readConfig({}, { [name]: value })).toThrow(message);
  });

  test('all of them at once, and a secret is not repeated', () => {
    const wrong = {
      PORT: 'x',
      LOG_LEVEL: 'y',
      UNKEY_ROOT_KEY: 'se cret',
      SECRET_KEY: 'too short',
      METRICS_TOKEN: 'guess',
    };
    expect(() => readConfig({}, wrong)).toThrow(ConfigError);
    try {
      readConfig({}, wrong);
    } catch (error) {
      const { message } = error as Error;
      expect(message.split('\n')).toHaveLength(5);
      expect(message).not.toMatch(/se cret|too short|guess/);
    }
  });
});

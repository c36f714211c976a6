import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readSettings } from '../../../src/cli/dev.js';

const config = fileURLToPath(import.meta.url);

test('without options and environment the defaults of Temporal and Onefold hold', () => {
  expect(readSettings({ config }, {}, undefined)).toEqual({
    configFile: config,
    host: '127.0.0.1',
    port: 8080,
    temporalPort: 7233,
    uiPort: 8233,
    postgresPort: 55432,
    dataFolder: '.onefold',
    ephemeral: false,
    json: false,
    schema: undefined,
    databaseUrl: undefined,
    temporalAddress: undefined,
  });
});

test('options win over the environment, and the environment over defaults', () => {
  const environment = { config: 'elsewhere.ts', port: 1, temporalPort: 2, data: 'theirs', ephemeral: true };
  expect(readSettings({ config, port: '3', data: 'ours' }, environment, '')).toMatchObject({
    configFile: config,
    port: 3,
    temporalPort: 2,
    dataFolder: 'ours',
    ephemeral: true,
    temporalAddress: undefined,
  });
});

test('a wrong port is refused by the name of its option', () => {
  expect(() => readSettings({ config, uiPort: '70000' }, {}, undefined)).toThrowError(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining('--ui-port') }),
  );
});

test('a configuration that is not there is refused with its path', () => {
  expect(() => readSettings({ config: 'missing.ts' }, {}, undefined)).toThrowError(
    expect.objectContaining({ code: 'config_missing', message: expect.stringContaining('missing.ts') }),
  );
});

import { describe, expect, test } from 'vitest';
import { readEnvironment } from '../../src/runtime/environment.js';

describe('readEnvironment', () => {
  test('an empty environment sets nothing', () => {
    expect(readEnvironment({})).toEqual({});
  });

  test('every variable arrives in its field and type', () => {
    expect(
      readEnvironment({
        DATABASE_URL: 'postgres://u:p@h:5432/d',
        ONEFOLD_SCHEMA: 'ledger',
        ONEFOLD_TASK_QUEUE: 'queue',
        ONEFOLD_LOG_LEVEL: 'debug',
        ONEFOLD_HOST: '0.0.0.0',
        ONEFOLD_PORT: '8081',
        ONEFOLD_METRICS_PORT: '9464',
        ONEFOLD_CONFIG: 'shop/onefold.ts',
        ONEFOLD_DATA: '/data',
        ONEFOLD_EGRESS_ALLOW: 'localhost, 10.0.0.0/8',
        ONEFOLD_EGRESS_ALLOW_TENANTS: 'true',
        ONEFOLD_EPHEMERAL: 'yes',
        ONEFOLD_TEMPORAL_PORT: '7000',
        ONEFOLD_UI_PORT: '0',
        ONEFOLD_POSTGRES_PORT: '65535',
      }),
    ).toEqual({
      databaseUrl: 'postgres://u:p@h:5432/d',
      schema: 'ledger',
      taskQueue: 'queue',
      logLevel: 'debug',
      host: '0.0.0.0',
      port: 8081,
      metricsPort: 9464,
      config: 'shop/onefold.ts',
      data: '/data',
      egressAllow: ['localhost', '10.0.0.0/8'],
      egressAllowTenants: true,
      ephemeral: true,
      temporalPort: 7000,
      uiPort: 0,
      postgresPort: 65535,
    });
  });

  test('a variable set to blanks counts as not set', () => {
    expect(readEnvironment({ ONEFOLD_PORT: ' ', DATABASE_URL: '' })).toEqual({});
  });

  test('the result cannot be changed', () => {
    expect(Object.isFrozen(readEnvironment({}))).toBe(true);
  });

  test.each([
    ['ONEFOLD_PORT', '65536'],
    ['ONEFOLD_PORT', '-1'],
    ['ONEFOLD_PORT', '80a'],
    ['ONEFOLD_METRICS_PORT', '1e3'],
    ['ONEFOLD_SCHEMA', 'Drop Table'],
    ['ONEFOLD_SCHEMA', 'pg_toast'],
    ['ONEFOLD_LOG_LEVEL', 'loud'],
    ['ONEFOLD_HOST', 'localhost/x'],
    ['ONEFOLD_EPHEMERAL', 'maybe'],
    ['ONEFOLD_EGRESS_ALLOW_TENANTS', 'acme'],
    ['DATABASE_URL', 'mysql://h/d'],
  ])('%s=%s is refused by its name', (name, value) => {
    expect(() => readEnvironment({ [name]: value })).toThrowError(
      expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(name) }),
    );
  });

  test('a wrong DATABASE_URL is not repeated in the message', () => {
    expect(() => readEnvironment({ DATABASE_URL: 'hunter2@host' })).toThrowError(
      expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
    );
  });
});

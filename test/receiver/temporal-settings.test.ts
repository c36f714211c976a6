import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { resolveTemporal } from '../../src/runtime/temporal.js';

test('without any setting it is the local server', () => {
  expect(resolveTemporal({ environment: {} })).toEqual({
    address: 'localhost:7233',
    namespace: 'default',
    connection: { address: 'localhost:7233' },
  });
});

const environment = {
  TEMPORAL_ADDRESS: 'temporal.internal:7233',
  TEMPORAL_NAMESPACE: 'webhooks',
  TEMPORAL_API_KEY: 'key-1',
};

test('the environment is read, and an API key implies TLS', () => {
  expect(resolveTemporal({ environment })).toMatchObject({
    address: 'temporal.internal:7233',
    namespace: 'webhooks',
    connection: { apiKey: 'key-1', tls: true },
  });
});

test('explicit settings win over the environment', () => {
  const settings = { address: 'other:7233', namespace: 'mine', apiKey: 'key-2', tls: false, environment };
  expect(resolveTemporal(settings)).toEqual({
    address: 'other:7233',
    namespace: 'mine',
    connection: { address: 'other:7233', apiKey: 'key-2', tls: false },
  });
});

test('a profile is read from the configuration file', () => {
  const file = join(tmpdir(), `onefold-temporal-${process.pid}.toml`);
  writeFileSync(file, '[profile.staging]\naddress = "staging:7233"\nnamespace = "staging"\n');
  const resolved = resolveTemporal({ profile: 'staging', environment: { TEMPORAL_CONFIG_FILE: file } });
  expect(resolved).toMatchObject({ address: 'staging:7233', namespace: 'staging' });
});

test('a profile that is not there is a mistake of the configuration', () => {
  expect(() => resolveTemporal({ profile: 'absent', environment: { HOME: '/nonexistent' } })).toThrow(
    expect.objectContaining({ code: 'config_invalid' }),
  );
});

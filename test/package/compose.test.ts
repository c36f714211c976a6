import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createSealer } from '../../src/runtime/seal.js';

const compose = await readFile(new URL('../../docker-compose.yml', import.meta.url), 'utf8');

test('the key of docker-compose.yml for trying out seals and opens', () => {
  const [, key] = /ONEFOLD_SECRETS_KEYS: \$\{ONEFOLD_SECRETS_KEYS:-(.+)\}$/m.exec(compose) ?? [];
  const sealer = createSealer(key);
  expect(sealer.open(sealer.seal('secret', 'place'), 'place')).toBe('secret');
});

test('docker-compose.yml lets Temporal dispatch fairly, from the file that it is told of', () => {
  const [, told] = /DYNAMIC_CONFIG_FILE_PATH: (\S+)$/m.exec(compose) ?? [];
  expect(told).toBeDefined();
  expect(compose).toContain(`target: ${told}\n`);
  expect(compose).toMatch(/^ {6}matching\.enableFairness:\n {8}- value: true$/m);
});

test("the shop's tables can be made again in a volume that has them", async () => {
  const schema = await readFile(new URL('../../examples/shop/schema.sql', import.meta.url), 'utf8');
  for (const [create] of schema.matchAll(/CREATE \w+ [^;(]*/g)) expect(create).toContain('IF NOT EXISTS');
  for (const [insert] of schema.matchAll(/INSERT [^;]*;/g)) expect(insert).toContain('ON CONFLICT DO NOTHING');
  expect(compose).toContain('./examples/shop/schema.sql:/shop.sql:ro');
});

import { expect, it } from 'vitest';
import { egressRules, tenantRules } from '../../src/runtime/egress-rules.js';

it('hosts, addresses and ranges are told apart', () => {
  const { hosts, ranges } = egressRules([' Hooks.Internal. ', 'localhost', '127.0.0.1', '10.0.0.0/8', '::1'], 'allow');
  expect([...hosts]).toEqual(['hooks.internal', 'localhost']);
  expect(ranges.map(({ network, prefix }) => `${network}/${prefix}`)).toEqual([
    '127.0.0.1/32',
    '10.0.0.0/8',
    '::1/128',
  ]);
});

it('they hold for endpoints without a tenant, and for tenants where that is said', () => {
  const rules = egressRules(['localhost', '10.0.0.0/8'], 'allow');
  expect(tenantRules(rules, '')).toBe(rules);
  expect(tenantRules(rules, 'acme')).toEqual({ hosts: new Set(), ranges: [], tenants: false });
  const forAll = egressRules(['localhost', '10.0.0.0/8'], 'allow', true);
  expect(tenantRules(forAll, 'acme')).toBe(forAll);
});

it.each([
  '',
  ' ',
  'https://example.com',
  'example.com:443',
  '*.example.com',
  '127.1',
  '0x7f.1',
  '2130706433',
  '0177.0.0.1',
  '10.0.0.0/33',
  '10.0.0.0/',
  '10.0.0.0/8/8',
  'fe80::1%eth0',
  '[::1]',
  'a..b',
  'example.com/8',
  'user@example.com',
])('the entry %j is refused by name', (entry) => {
  expect(() => egressRules(['localhost', entry], 'ONEFOLD_EGRESS_ALLOW')).toThrow(
    expect.objectContaining({
      code: 'config_invalid',
      message: expect.stringMatching(/^ONEFOLD_EGRESS_ALLOW: .*got /),
    }),
  );
});

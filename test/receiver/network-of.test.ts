import { expect, test } from 'vitest';
import { networkOf } from '../../src/receiver/network-of.js';

test.each([
  ['192.0.2.77', '192.0.2.0/24'],
  ['::ffff:192.0.2.77', '192.0.2.0/24'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
  ['::1', '::/48'],
  ['fe80::1%eth0', 'fe80::/48'],
])('%s lies in %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

test.each(['', 'localhost', '192.0.2', '/tmp/socket'])('%j lies in no network', (text) => {
  expect(networkOf(text)).toBeUndefined();
});

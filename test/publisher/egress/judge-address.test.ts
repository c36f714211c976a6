import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgeAddress } from '../../../src/publisher/egress/judge-address.js';
import { egressRules } from '../../../src/runtime/egress-rules.js';

const none = egressRules([], 'test');
const allowed = (address: string, rules = none): boolean => judgeAddress(address, rules).allowed;

const hex = (...bytes: readonly number[]): string => bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');

type Octets = readonly [number, number, number, number];
const octet = fc.nat(255);

/** Ranges that nobody outside may be sent to, by their first octets. */
const forbidden: fc.Arbitrary<Octets> = fc.oneof(
  fc.tuple(fc.constantFrom(0, 10, 127), octet, octet, octet),
  fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), octet, octet),
  fc.tuple(fc.constant(192), fc.constant(168), octet, octet),
  fc.tuple(fc.constant(169), fc.constant(254), octet, octet),
  fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), octet, octet),
  fc.tuple(fc.integer({ min: 224, max: 255 }), octet, octet, octet),
);

/** Every way to write an IPv4 address that parsers take. */
const spellings = ([a, b, c, d]: Octets): readonly string[] => {
  const dotted = `${a}.${b}.${c}.${d}`;
  const [high, low] = [hex(a, b), hex(c, d)];
  return [
    dotted,
    `0x${a.toString(16)}.0x${b.toString(16)}.0x${c.toString(16)}.0x${d.toString(16)}`,
    `0${a.toString(8)}.0${b.toString(8)}.0${c.toString(8)}.0${d.toString(8)}`,
    String(((a * 256 + b) * 256 + c) * 256 + d),
    `0x${hex(a, b, c, d)}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    `::ffff:${dotted}`,
    `::ffff:${high}:${low}`,
    `0:0:0:0:0:FFFF:${high}:${low}`.toUpperCase(),
    `0000:0000:0000:0000:0000:ffff:${dotted}`,
  ];
};

/** Ways to put an IPv4 address into an IPv6 one, other than mapped. */
const embeddings = ([a, b, c, d]: Octets): readonly string[] => {
  const dotted = `${a}.${b}.${c}.${d}`;
  const [high, low] = [hex(a, b), hex(c, d)];
  const inverted = [hex(255 - a, 255 - b), hex(255 - c, 255 - d)];
  return [
    `::${dotted}`,
    `::${high}:${low}`,
    `::ffff:0:${dotted}`,
    `64:ff9b::${dotted}`,
    `64:ff9b::${high}:${low}`,
    `64:ff9b:1::${high}:${low}`,
    `64:ff9b:1:${high}:0${hex(c)}:${hex(d)}00::`,
    `2002:${high}:${low}::1`,
    `2001:0:${high}:${low}::1`,
    `2001:0:4136:e378:8000:63bf:${inverted.join(':')}`,
  ];
};

describe('address-check-other-spellings', () => {
  it('a forbidden address is refused in every spelling and every embedding', () => {
    fc.assert(
      fc.property(forbidden, (octets) => {
        expect([...spellings(octets), ...embeddings(octets)].filter((address) => allowed(address))).toEqual([]);
      }),
    );
  });

  it('a public address is allowed in every spelling, and through NAT64', () => {
    const octets = fc.constantFrom<Octets>([8, 8, 8, 8], [1, 1, 1, 1], [93, 184, 215, 14], [172, 32, 0, 1]);
    fc.assert(
      fc.property(octets, ([a, b, c, d]) => {
        const each = [...spellings([a, b, c, d]), `64:ff9b::${hex(a, b)}:${hex(c, d)}`];
        expect(each.filter((address) => !allowed(address))).toEqual([]);
      }),
    );
  });

  it('IPv6 is refused outside global unicast', () => {
    const outside = fc.uint8Array({ minLength: 16, maxLength: 16 }).filter((bytes) => (bytes[0]! & 0xe0) !== 0x20);
    fc.assert(
      fc.property(outside, (bytes) => {
        const groups = Array.from({ length: 8 }, (_, index) => hex(bytes[2 * index]!, bytes[2 * index + 1]!));
        expect(allowed(groups.join(':'))).toBe(false);
      }),
    );
  });

  it.each(['', 'localhost', '1.2.3.4.5', '256.1.1.1', '8.8.8.8%eth0', '2606:4700::1%1', '[::1]', '8.8.8.8/32', ' '])(
    'what is no address, %j, is refused',
    (address) => {
      expect(judgeAddress(address, none)).toEqual({ allowed: false, because: 'it is no address' });
    },
  );
});

it.each([
  ['127.0.0.1', 'it is loopback'],
  ['::1', 'it is loopback'],
  ['10.1.2.3', 'it is private'],
  ['fd00:ec2::254', 'it is private'],
  ['100.100.100.200', 'it is private'],
  ['169.254.169.254', 'it is link-local'],
  ['fe80::1', 'it is link-local'],
  ['ff02::1', 'it is multicast'],
  ['192.0.0.192', 'it is reserved'],
  ['198.18.0.1', 'it is reserved'],
  ['2001:db8::1', 'it is reserved'],
  ['168.63.129.16', "it is the platform's own"],
  ['::ffff:168.63.129.16', "it is the platform's own"],
  ['::8.8.8.8', 'it is outside the public addresses of IPv6'],
  ['4000::1', 'it is outside the public addresses of IPv6'],
])('%s is refused, since %s', (address, because) => {
  expect(judgeAddress(address, none)).toEqual({ allowed: false, because });
});

it.each([
  '8.8.8.8',
  '172.15.255.255',
  '172.32.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '2606:4700:4700::1111',
  '2a00::1',
])('%s is public', (address) => {
  expect(allowed(address)).toBe(true);
});

it('a listed range is allowed in the forms that are in use, and its neighbours are not', () => {
  const rules = egressRules(['10.1.0.0/16', 'fd00::/64'], 'test');
  const listed = ['10.1.0.0', '10.1.255.255', '::ffff:10.1.2.3', '64:ff9b::10.1.2.3', 'fd00::1'];
  const others = ['10.0.255.255', '10.2.0.0', '::10.1.2.3', '2002:a01:203::1', 'fd00:0:0:1::1', '127.0.0.1'];
  expect(listed.filter((address) => !allowed(address, rules))).toEqual([]);
  expect(others.filter((address) => allowed(address, rules))).toEqual([]);
});

import { expect, it } from 'vitest';
import { isoTime } from '../../src/sources/iso-time.js';

it.each([
  ['2026-03-14T09:26:50.344522Z', '2026-03-14T09:26:50.344Z'],
  ['2026-03-14T09:26:52.999999999Z', '2026-03-14T09:26:52.999Z'],
  ['2026-03-14T09:26:52Z', '2026-03-14T09:26:52.000Z'],
  ['2026-03-14T10:26:52.5+01:00', '2026-03-14T09:26:52.500Z'],
  [1_773_480_411, '2026-03-14T09:26:51.000Z'],
  [1_773_480_411.001, '2026-03-14T09:26:51.001Z'],
  [1_773_480_411.9999, '2026-03-14T09:26:51.999Z'],
  ['1773480411', '2026-03-14T09:26:51.000Z'],
])('%j is %s', (value, expected) => {
  expect(isoTime(value)).toBe(expected);
});

it('a number counts milliseconds where the unit says so', () => {
  expect(isoTime(1_773_480_411_123, 'milliseconds')).toBe('2026-03-14T09:26:51.123Z');
});

it.each([
  undefined,
  null,
  '',
  'yesterday',
  '2026-03-14',
  '2026-03-14T09:26:52',
  '2026-13-14T09:26:52Z',
  Number.NaN,
  1e300,
  {},
  true,
])('%j is no time', (value) => {
  expect(isoTime(value)).toBeUndefined();
});

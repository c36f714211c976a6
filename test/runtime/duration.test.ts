import { expect, test } from 'vitest';
import { durationMs } from '../../src/runtime/duration.js';

test('words and numbers of ms are read, to a whole ms', () => {
  expect([durationMs('30 seconds', 'x'), durationMs('1.5h', 'x'), durationMs(12.6, 'x'), durationMs(1, 'x')]).toEqual([
    30_000, 5_400_000, 13, 1,
  ]);
});

test.each([
  [''],
  ['soon'],
  ['-1 s'],
  [0],
  [0.1],
  [-5],
  [Number.NaN],
  ['5 '.repeat(60)],
  [5n],
  [null],
  [undefined],
  [{}],
])('%s is config_invalid, and the message shows a unit', (value) => {
  expect(() => durationMs(value, 'pause')).toThrow(
    expect.objectContaining({
      code: 'config_invalid',
      message: expect.stringMatching(/^pause: expected a duration such as '30 seconds'.{0,170}$/),
    }),
  );
});

test('what is beyond the bound is refused with the bound', () => {
  expect(durationMs('1 hour', 'pause', '1 hour')).toBe(3_600_000);
  expect(() => durationMs('61 minutes', 'pause', '1 hour')).toThrow('pause: at most 1 hour, got "61 minutes"');
});

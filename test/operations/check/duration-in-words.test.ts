import { expect, test } from 'vitest';
import { durationInWords } from '../../../src/operations/check/duration-in-words.js';

test.each([
  [200, '200 ms'],
  [1000, '1 second'],
  [1500, '1500 ms'],
  [30_000, '30 seconds'],
  [60_000, '1 minute'],
  [90_000, '90 seconds'],
  [5_400_000, '90 minutes'],
  [3_600_000, '1 hour'],
  [86_400_000, '24 hours'],
  [272_105_000, '3.1 days'],
  [259_200_000, '3 days'],
  [2_592_000_000, '30 days'],
])('%i ms is "%s" to people', (ms, words) => {
  expect(durationInWords(ms)).toBe(words);
});

import { expect, test } from 'vitest';
import { withoutValues } from '../../src/publisher/without-values.js';

test('a value that a receiver echoes is taken out, with its scheme and without', () => {
  const text = '{"authorization":"Bearer s3cret-value","seen":"s3cret-value"}';
  expect(withoutValues(text, ['Bearer s3cret-value'])).toBe('{"authorization":"[header]","seen":"[header]"}');
});

test('a value that the end of the text cuts in two is taken out too', () => {
  expect(withoutValues('got: s3cret-va', ['s3cret-value'])).toBe('got: [header]');
});

test('a text that holds none stays as it is, and so do short values', () => {
  expect(withoutValues('all fine', ['s3cret-value', 'fine'])).toBe('all fine');
});

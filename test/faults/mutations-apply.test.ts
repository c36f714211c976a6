import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { mutations } from './support/mutations.js';

// The mutations themselves take minutes, and `npm run prove:mutations` runs them; that they still mean something is quick.
test.each(mutations)('the rule of the mutation "$what" stands in the source once', ({ file, find }) => {
  expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split(find)).toHaveLength(2);
});

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { generatedDocs, generatedParts, withGeneratedPart } from '../../scripts/generate-docs.js';

test.each(Object.entries(generatedDocs))(
  '%s says what the code says (npx tsx scripts/generate-docs.ts)',
  (path, render) => {
    expect(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')).toBe(render());
  },
);

test.each(Object.entries(generatedParts))('the generated part of %s is what its table says', (path, render) => {
  const document = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  expect(document).toBe(withGeneratedPart(document, render()));
});

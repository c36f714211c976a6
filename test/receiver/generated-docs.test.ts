import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { generatedDocs } from '../../scripts/generate-docs.js';

test.each(Object.entries(generatedDocs))(
  '%s says what the code says (npx tsx scripts/generate-docs.ts)',
  (path, render) => {
    expect(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')).toBe(render());
  },
);

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findingKinds } from '../../../src/operations/check/finding.js';

const page = readFileSync(new URL('../../../docs/check.md', import.meta.url), 'utf8');

test('the documentation lists every finding as it is, and no other', () => {
  const documented = [...page.matchAll(/^\| `(\w+)` \| (problem|warning|note) \| (.*?) \|$/gm)].map(
    ([, id, level, means]) => [id, { level, means }],
  );
  expect(Object.fromEntries(documented)).toEqual(findingKinds);
});

import { expect, test } from 'vitest';
import { adminAccess } from '../../src/admin/admin-tokens.js';

const act = 'act-0123456789-0123456789';
const read = 'read-0123456789-0123456789';

test.each<[string | undefined, 'act' | 'read' | undefined]>([
  [undefined, undefined],
  ['', undefined],
  [act, undefined],
  ['Bearer', undefined],
  ['Bearer ', undefined],
  [`Basic ${act}`, undefined],
  [`Bearer ${act.slice(0, -1)}`, undefined],
  [`Bearer ${act}x`, undefined],
  [`Bearer ${act.toUpperCase()}`, undefined],
  [`Bearer ${act} ${read}`, undefined],
  [`Bearer ${act}`, 'act'],
  [`bearer   ${act} `, 'act'],
  [`Bearer ${read}`, 'read'],
])('the header %j gives %s', (header, access) => {
  expect(adminAccess({ act, read })(header)).toBe(access);
});

test('with one token only, no header gives what the other would', () => {
  expect(adminAccess({ read })(`Bearer ${read}`)).toBe('read');
  expect(adminAccess({ read })('Bearer undefined')).toBeUndefined();
  expect(adminAccess({ act })(`Bearer ${act}`)).toBe('act');
});

test('without any token it is not made', () => {
  expect(() => adminAccess({})).toThrow(expect.objectContaining({ code: 'config_missing' }));
});

test.each([
  ['of 23 characters', { act: 'a'.repeat(23) }],
  ['with a blank', { read: `${'a'.repeat(24)} b` }],
  ['that are equal', { act, read: act }],
])('tokens %s are refused, and never shown', (_what, tokens) => {
  const refusal = (() => {
    try {
      adminAccess(tokens);
    } catch (error) {
      return error as Error & { code: string };
    }
  })();
  expect(refusal?.code).toBe('config_invalid');
  for (const token of Object.values(tokens)) expect(refusal?.message).not.toContain(token);
});

test('a token of 24 characters is taken', () => {
  expect(adminAccess({ act: 'a'.repeat(24) })(`Bearer ${'a'.repeat(24)}`)).toBe('act');
});

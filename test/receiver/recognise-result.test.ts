import { expect, test } from 'vitest';
import { recogniseResult } from '../../src/receiver/recognise-result.js';

const end = { effect: 'ship', businessKey: 'k', outcome: 'done', attempts: 1, fence: 1, result: { json: '{}' } };
const result = { version: 1, event: 'shop/1', outcome: 'done', effects: [end] };

test('a result in our shape is recognised', () => {
  expect(recogniseResult(result)).toBe(result);
  const stored = { ...result, effects: [{ ...end, result: { stored: true, bytes: 70_000 } }] };
  expect(recogniseResult(stored)).toBe(stored);
});

test.each([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'done'],
  ['a list', [result]],
  ['another version', { ...result, version: 2 }],
  ['no event', { ...result, event: undefined }],
  ['an unknown outcome', { ...result, outcome: 'fine' }],
  ['effects that are no list', { ...result, effects: {} }],
  ['an effect without a name', { ...result, effects: [{ ...end, effect: 7 }] }],
  ['a result that is not JSON', { ...result, effects: [{ ...end, result: { json: '{"a":' } }] }],
  ['a result of no kind', { ...result, effects: [{ ...end, result: 'x' }] }],
])('%s is not recognised', (_, value) => {
  expect(recogniseResult(value)).toBeUndefined();
});

import { expect, test } from 'vitest';
import { attributeWork } from '../../../src/operations/trace/attribute-work.js';
import type { TracedEffect, TracedEvent } from '../../../src/operations/trace/trace.js';

const effect = { effect: 'ship-order', businessKey: 'shipment:1', done: false } as TracedEffect;

function eventWith(codes: readonly (string | undefined)[]): TracedEvent {
  const steps = codes.map((code) => ({
    what: 'attempt',
    effect: 'ship-order',
    ...(code === undefined ? {} : { code }),
  }));
  return { runs: [{ steps }], deliveries: [], acts: [] } as unknown as TracedEvent;
}

test('what only waited was no attempt', () => {
  const event = eventWith(['effect_paused', 'claim_waiting', 'effect_threw', undefined]);
  expect(attributeWork(event, effect, true).attempts).toBe(2);
  expect(attributeWork(event, effect, false)).not.toHaveProperty('attempts');
});

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DeadLetter, writeDeadLetter } from '../../src/ledger/write-dead-letter.js';
import { unknownDigest } from '../../src/workflows/contract.js';
import { shop } from '../hazards/support/shop.js';
import { createHarness, type Harness } from '../setup/harness.js';

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [] }, { worker: false });
});
afterAll(() => harness?.close());

const write = (letter: DeadLetter) => writeDeadLetter(harness.ledger.database.query, harness.ledger.schema, letter);
const genuineLetter = (): DeadLetter => {
  const id = randomUUID();
  return {
    tenant: '',
    eventKey: `event//shop/${id}`,
    source: 'shop',
    id,
    type: 'order.paid',
    digest: 'digest',
    receivedAt: new Date().toISOString(),
    code: 'effect_threw',
    message: 'the warehouse said no',
    input: '{"genuine":true}',
    effects: '[{"effect":"ship-order"}]',
    runId: randomUUID(),
    body: Buffer.from('{}'),
  };
};
const malformedOver = (letter: DeadLetter): DeadLetter => ({
  ...letter,
  type: 'unknown',
  digest: unknownDigest,
  code: 'input_malformed',
  message: 'started by hand',
  input: '{"genuine":false}',
  effects: '[]',
  runId: randomUUID(),
  body: Buffer.from('"a slip of the hand"'),
});
const letterOf = async ({ eventKey }: DeadLetter) =>
  (
    await harness.sql(
      'SELECT type, code, message, input, effects, occurrences FROM onefold.dead_letters WHERE event_key = $1 AND closed_at IS NULL',
      [eventKey],
    )
  )[0];
const told = ({ type, code, message, input, effects }: DeadLetter) => ({ type, code, message, input, effects });

test('a malformed run over an open dead letter counts, and leaves what the genuine one wrote', async () => {
  const genuine = genuineLetter();
  await write(genuine);
  expect(await write(malformedOver(genuine))).toEqual({ open: true, counted: true });
  expect(await letterOf(genuine)).toEqual({ ...told(genuine), occurrences: 2 });
});

test('a malformed run over a genuine event without an open letter opens one with the genuine input', async () => {
  const genuine = genuineLetter();
  await write(genuine);
  await harness.sql('UPDATE onefold.dead_letters SET closed_at = now() WHERE event_key = $1', [genuine.eventKey]);
  await write(malformedOver(genuine));
  expect(await letterOf(genuine)).toMatchObject({ type: 'order.paid', code: 'input_malformed', input: genuine.input });
});

test('a genuine run over the letter of a malformed one takes it over, and so its event', async () => {
  const genuine = genuineLetter();
  const malformed = malformedOver(genuine);
  await write(malformed);
  await write(malformedOver(genuine));
  expect(await letterOf(genuine)).toMatchObject({ code: 'input_malformed', occurrences: 2 });
  await write(genuine);
  expect(await letterOf(genuine)).toEqual({ ...told(genuine), occurrences: 3 });
  const [event] = await harness.sql('SELECT type, digest, input FROM onefold.events WHERE event_key = $1', [
    genuine.eventKey,
  ]);
  expect(event).toEqual({ type: 'order.paid', digest: 'digest', input: genuine.input });
});

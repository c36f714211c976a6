import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closeParked } from '../../src/ledger/close-parked.js';
import { recordPlan } from '../../src/ledger/record-plan.js';
import { type DeadLetter, writeDeadLetter } from '../../src/ledger/write-dead-letter.js';
import { writeParked } from '../../src/ledger/write-parked.js';
import { shop } from '../hazards/support/shop.js';
import { createHarness, type Harness } from '../setup/harness.js';

let harness: Harness;
beforeAll(async () => {
  harness = await createHarness({ sources: [shop], effects: [] }, { worker: false });
});
afterAll(() => harness?.close());

const ledger = () => [harness.ledger.database.query, harness.ledger.schema] as const;
const write = (letter: DeadLetter) => writeParked(...ledger(), letter);
const look = (letter: DeadLetter, effect: string) =>
  closeParked(...ledger(), { tenant: '', eventKey: letter.eventKey, names: [effect], businessKey: letter.id });

/** An event with two effects whose business key is its id. */
async function planned(): Promise<DeadLetter> {
  const id = randomUUID();
  const letter: DeadLetter = {
    tenant: '',
    eventKey: `event//shop/${id}`,
    source: 'shop',
    id,
    type: 'order.paid',
    digest: 'digest',
    receivedAt: new Date().toISOString(),
    code: 'effect_parked',
    message: 'charge: waits for a person',
    input: '{}',
    effects: '[{"effect":"charge"}]',
    runId: randomUUID(),
    body: Buffer.from('{}'),
  };
  const effects = ['charge', 'ship'].map((effect) => ({ effect, businessKey: id }));
  await recordPlan(...ledger(), { ...letter, body: Buffer.from('{}'), effects });
  return letter;
}
const setState = ({ id, eventKey }: DeadLetter, effect: string, state: string) =>
  harness.sql(
    `INSERT INTO onefold.effects (tenant, effect, business_key, state, fence, owner, event_key, event, data_digest)
     VALUES ('', $1, $2, $3, 1, gen_random_uuid(), $4, 'shop/x', '')
     ON CONFLICT (tenant, effect, business_key) DO UPDATE SET state = EXCLUDED.state`,
    [effect, id, state, eventKey],
  );
const letters = ({ eventKey }: DeadLetter) =>
  harness.sql(
    `SELECT code, message, effects, parked, runs, occurrences, closed_at IS NULL AS open
     FROM onefold.dead_letters WHERE event_key = $1 ORDER BY id`,
    [eventKey],
  );

test('an entry of those that wait is brought up to date, and counts once', async () => {
  const letter = await planned();
  expect(await write(letter)).toBe(true);
  const later = { ...letter, message: 'charge: waits for a person; ship: waits for a person', effects: '[]' };
  expect(await write(later)).toBe(false);
  expect(await letters(letter)).toEqual([
    {
      code: 'effect_parked',
      message: later.message,
      effects: '[]',
      parked: true,
      runs: [],
      occurrences: 1,
      open: true,
    },
  ]);
});

test('a dead letter of an earlier run becomes the entry, and keeps what it has counted', async () => {
  const letter = await planned();
  await writeDeadLetter(...ledger(), { ...letter, code: 'effect_threw' });
  await harness.sql("UPDATE onefold.events SET state = 'open' WHERE event_key = $1", [letter.eventKey]);
  expect(await write(letter)).toBe(true);
  expect(await write(letter)).toBe(false);
  expect(await letters(letter)).toMatchObject([
    { code: 'effect_parked', parked: true, runs: [letter.runId], occurrences: 1 },
  ]);
});

test.each(['done', 'abandoned'])('an event that is %s waits for nobody', async (state) => {
  const letter = await planned();
  await harness.sql('UPDATE onefold.events SET state = $2 WHERE event_key = $1', [letter.eventKey, state]);
  expect(await write(letter)).toBe(false);
  expect(await letters(letter)).toEqual([]);
});

test('an effect that is parked while its event has no entry is said to be unlisted', async () => {
  const letter = await planned();
  await setState(letter, 'charge', 'parked');
  expect(await look(letter, 'charge')).toEqual({ parked: true, listed: false });
  await write(letter);
  expect(await look(letter, 'charge')).toEqual({ parked: true, listed: true });
});

test('the entry is closed by the look that finds the last of its effects resolved', async () => {
  const letter = await planned();
  await setState(letter, 'charge', 'parked');
  await setState(letter, 'ship', 'parked');
  await write(letter);
  await setState(letter, 'charge', 'released');
  expect(await look(letter, 'charge')).toMatchObject({ parked: false });
  expect(await letters(letter)).toMatchObject([{ open: true }]);
  await setState(letter, 'ship', 'done');
  expect(await look(letter, 'ship')).toMatchObject({ parked: false });
  expect(await letters(letter)).toMatchObject([{ open: false }]);
});

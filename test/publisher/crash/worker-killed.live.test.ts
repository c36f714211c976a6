import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SendStep } from '../../../src/activities/delivery-activities.js';
import { killWorkers } from '../../hazards/support/spawn-worker.js';
import { createDeliveryStage, type DeliveryStage } from '../support/delivery-stage.js';
import { type ScriptedReceiver, startScriptedReceiver } from '../support/scripted-receiver.js';
import { readHistory } from './support/delivery-history.js';
import { spawnSender } from './support/spawn-sender.js';

/** Attempts that die at each step, all with one worker. */
const each = 3;

interface Expected {
  readonly outcome: 'delivered' | 'already_delivered';
  /** Requests that the receiver got. */
  readonly wire: number;
  /** How the rows of its attempts ended, in their order. */
  readonly rows: readonly string[];
}

const steps: readonly (readonly [SendStep, string, Expected])[] = [
  ['before_begin', 'before its row', { outcome: 'delivered', wire: 1, rows: ['delivered'] }],
  ['after_begin', 'before its socket', { outcome: 'delivered', wire: 1, rows: ['outcome_unknown', 'delivered'] }],
  ['after_exchange', 'before it wrote', { outcome: 'delivered', wire: 2, rows: ['outcome_unknown', 'delivered'] }],
  ['after_end', 'before it answered', { outcome: 'already_delivered', wire: 1, rows: ['delivered'] }],
];

let stage: DeliveryStage;
let receiver: ScriptedReceiver;
let endpoint: string;
const eventIds = new Map<string, string>();
const namesOf = (step: SendStep) => Array.from({ length: each }, (_, number) => `${step}:${number}`);

beforeAll(async () => {
  receiver = await startScriptedReceiver();
  stage = await createDeliveryStage({ worker: false });
  ({ id: endpoint } = await stage.endpoint(receiver.url, { timeout: '2 seconds', concurrency: 50 }));
  const sender = await spawnSender(stage);
  const all = steps.flatMap(([step]) => namesOf(step));
  for (const name of all) eventIds.set(name, (await stage.publish(name)).eventId);
  await sender.held(all);
  await sender.kill();
  await stage.worker();
  for (const name of all) await stage.end(endpoint, name);
});
afterAll(async () => {
  await killWorkers();
  await stage?.close();
  await receiver?.close();
});

const rowsOf = (publication: string) =>
  stage.sql<{ ended: string; status: number | null; started_at: Date }>(
    'SELECT * FROM onefold.publication_attempts WHERE publication = $1 ORDER BY started_at',
    [publication],
  );
const requestsOf = (publication: string) => receiver.of(eventIds.get(publication) as string);

test.each(steps)('SIGKILL of the worker %s, %s: the publication is delivered', async (step, _, { outcome }) => {
  for (const name of namesOf(step)) {
    expect(await stage.end(endpoint, name)).toMatchObject({ outcome, eventId: eventIds.get(name) });
    expect(await stage.row(endpoint, name)).toMatchObject({ state: 'delivered', last_status: 200 });
  }
});

test.each(steps)(
  'SIGKILL of the worker %s, %s: rows, requests and history tell the same',
  async (step, _, expected) => {
    for (const name of namesOf(step)) {
      const rows = await rowsOf(name);
      const { sends } = await readHistory(stage.handle(endpoint, name));
      expect(rows.map(({ ended }) => ended)).toEqual(expected.rows);
      expect(requestsOf(name)).toHaveLength(expected.wire);
      const diedBeforeTheirSocket = step === 'after_begin' ? 1 : 0;
      expect(rows.length - diedBeforeTheirSocket).toBe(expected.wire);
      expect(expected.wire).toBeLessThanOrEqual(sends);
      // Where the server noticed the death before the dead attempt's lease was over, one more asked and was told to wait.
      expect(sends).toBeGreaterThanOrEqual(2);
      expect(sends).toBeLessThanOrEqual(3);
      expect(await stage.row(endpoint, name)).toMatchObject({ attempts: rows.length });
    }
  },
);

test('whoever dedupes on the webhook-id has one effect of each publication', () => {
  const effects = new Set(receiver.requests.map(({ id }) => id));
  expect([...effects].sort()).toEqual([...eventIds.values()].sort());
  expect(receiver.requests).toHaveLength(each * 5);
});

test('the history says that the outcome is unknown, and why it is safe to send again', async () => {
  for (const [step] of steps) {
    for (const name of namesOf(step)) {
      const { waits } = await readHistory(stage.handle(endpoint, name));
      expect(waits[0]).toEqual(expect.stringMatching(/^next try in .*: outcome_unknown: its worker died or froze/));
      // At most one more wait, for the lease of the attempt that died.
      expect(waits.slice(1).filter((wait) => !wait.includes('rate_or_concurrency_limited'))).toEqual([]);
      expect(waits[0]).toContain(`sent again under the same webhook-id ${eventIds.get(name)}`);
    }
  }
});

test('the log tells of each attempt that vanished with its row open, and of no other', () => {
  const told = stage.lines.filter(({ msg }) => msg === 'delivery.outcome_unknown');
  expect(told.map(({ publication }) => publication).sort()).toEqual([
    ...namesOf('after_begin'),
    ...namesOf('after_exchange'),
  ]);
  for (const { publication, ...line } of told) {
    expect(line).toMatchObject({ attempts: 1, endpoint, eventId: eventIds.get(publication as string) });
  }
});

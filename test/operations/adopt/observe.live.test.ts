import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Effect, EffectMode } from '../../../src/effects/effect.js';
import { forwardsKey } from '../../../src/effects/recovery.js';
import { until } from '../../hazards/support/until.js';
import { createStage, type Deployed, type Stage } from '../support/stage.js';
import { eventId, fillClaimTable, settledShop, shipments, tables } from './claim-table.js';

const calls: string[] = [];

function shipOrder(mode: EffectMode): Effect {
  return settledShop.effect('ship-order', {
    on: 'order.paid',
    businessKey: ({ data }) => `shipment:${data.order}`,
    mode,
    commit: async ({ event, tx }) => {
      await tx.query('INSERT INTO shipments VALUES ($1)', [event.data.order]);
      return { shipment: 'new' };
    },
  });
}

function chargeCard(mode: EffectMode): Effect {
  return settledShop.externalEffect('charge-card', {
    on: 'order.paid',
    businessKey: ({ data }) => `charge:${data.order}`,
    mode,
    recovery: forwardsKey({ validFor: '24h' }),
    perform: async ({ event }) => {
      calls.push(event.data.order);
      return { charge: event.data.order };
    },
  });
}

const act = { by: 'ann', reason: 'moving in' };

let stage: Stage;
beforeEach(async () => {
  calls.length = 0;
  stage = await createStage({ setup: tables });
});
afterEach(async () => {
  await stage.close();
});

async function deploy(effects: readonly Effect[]): Promise<Deployed> {
  const deployed = stage.deploy(effects, { source: settledShop });
  await deployed.startWorker();
  return deployed;
}

const e = (n: number): string => eventId(stage, n);

async function filledTables(): Promise<string[]> {
  const names = await stage.sql<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'onefold' ORDER BY 1`,
  );
  const counted = await Promise.all(
    names.map(async ({ name }) => ({ name, rows: await stage.sql(`SELECT 1 FROM onefold.${name} LIMIT 1`) })),
  );
  return counted.flatMap(({ name, rows }) => (rows.length > 0 ? [name] : []));
}

function shipped(): Promise<unknown[]> {
  return stage.sql('SELECT order_id FROM shipments');
}

test('effects of both kinds that observe claim and run nothing, and say what they would do', async () => {
  const { deliver, lines, onefold } = await deploy([shipOrder('observe'), chargeCard('observe')]);
  const answer = await deliver(e(1), { order: 'o-1' });
  expect(answer).toMatchObject({ status: 200, json: { outcome: 'observed' } });
  expect(answer.json.result).toBeUndefined();
  expect(await shipped()).toEqual([]);
  expect(calls).toEqual([]);
  const known = ['deliveries', 'event_effects', 'events', 'payloads'];
  expect((await filledTables()).filter((name) => !['migrations', 'sweeps', 'attempt_marks'].includes(name))).toEqual(
    expect.arrayContaining(['event_effects', 'events', 'payloads']),
  );
  const others = (await filledTables()).filter(
    (name) => ![...known, 'migrations', 'sweeps', 'pgmigrations'].includes(name),
  );
  expect(others).toEqual([]);
  expect(await stage.sql('SELECT state, remaining FROM onefold.events')).toEqual([{ state: 'done', remaining: 0 }]);
  expect(await stage.sql('SELECT effect, business_key, outcome FROM onefold.event_effects ORDER BY effect')).toEqual([
    { effect: 'charge-card', business_key: 'charge:o-1', outcome: 'observed' },
    { effect: 'ship-order', business_key: 'shipment:o-1', outcome: 'observed' },
  ]);
  const observed = lines.filter(({ msg }) => msg === 'effect.observed');
  expect(observed).toHaveLength(2);
  expect(observed).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        effect: 'ship-order',
        businessKey: 'shipment:o-1',
        would: 'perform',
        event: `shop/${e(1)}`,
      }),
      expect.objectContaining({ effect: 'charge-card', businessKey: 'charge:o-1', would: 'perform' }),
    ]),
  );
  expect(await onefold.metrics.registry.metrics()).toContain(
    'onefold_observed_total{effect="ship-order",would="perform"} 1',
  );
  // A redelivery is a duplicate like any other, and is not observed twice.
  expect((await deliver(e(1), { order: 'o-1' })).json).toMatchObject({ outcome: 'observed' });
  expect(lines.filter(({ msg }) => msg === 'effect.observed')).toHaveLength(2);
});

test('beside an effect that works, one that observes changes nothing of the outcome', async () => {
  const { deliver } = await deploy([shipOrder('live'), chargeCard('observe')]);
  const answer = await deliver(e(1), { order: 'o-1' });
  expect(answer.json).toMatchObject({ outcome: 'done', result: { 'ship-order': { shipment: 'new' } } });
  expect(calls).toEqual([]);
  const again = await deliver(e(2), { order: 'o-1' });
  expect(again.json).toMatchObject({ outcome: 'already_done' });
  expect(await shipped()).toHaveLength(1);
});

test('what an earlier system did is seen as such, under the same keys', async () => {
  await fillClaimTable(stage, 1);
  const { deliver, lines, onefold } = await deploy([shipOrder('observe')]);
  await onefold.adopt({ ...act, source: 'shop', effect: 'ship-order', sql: shipments });
  await deliver(e(5000), { order: 'o-1' });
  await deliver(e(2), { order: 'o-2' });
  const seen = lines.filter(({ msg }) => msg === 'effect.observed');
  expect(seen.map(({ businessKey, would, doneBy }) => ({ businessKey, would, doneBy }))).toEqual([
    { businessKey: 'shipment:o-1', would: 'skip', doneBy: `shop/${e(1)}` },
    { businessKey: 'shipment:o-2', would: 'perform', doneBy: undefined },
  ]);
});

test('gone live, what was observed stays so; new events run, and a replay runs what neither system did', async () => {
  const before = await deploy([shipOrder('observe')]);
  for (const n of [1, 2, 3]) await before.deliver(e(n), { order: `o-${n}` });
  await before.stopWorker();

  const { deliver, onefold } = await deploy([shipOrder('live')]);
  expect((await deliver(e(1), { order: 'o-1' })).json).toMatchObject({ outcome: 'observed' });
  expect(await shipped()).toEqual([]);
  expect((await deliver(e(4), { order: 'o-4' })).json).toMatchObject({ outcome: 'done' });

  // The earlier system did two of the three.
  await fillClaimTable(stage, 2);
  const adopted = await onefold.adopt({ ...act, source: 'shop', effect: 'ship-order', sql: shipments });
  expect(adopted).toMatchObject({ adopted: 2, conflicts: 0 });
  expect(await stage.sql(`SELECT event_key FROM onefold.event_effects WHERE outcome = 'observed'`)).toEqual([
    { event_key: `event//shop/${e(3)}` },
  ]);
  expect(await onefold.replay(`shop/${e(2)}`, act)).toMatchObject({ outcome: 'nothing_to_do' });
  expect(await onefold.replay(`shop/${e(3)}`, act)).toMatchObject({ outcome: 'started' });
  await until('the shipment of o-3', async () => (await shipped()).length === 2);
  await until('the end of e-3', async () => {
    const [row] = await stage.sql(`SELECT state, remaining FROM onefold.events WHERE event_id = $1`, [e(3)]);
    return row?.state === 'done' && row.remaining === 0;
  });
  expect(await shipped()).toEqual([{ order_id: 'o-4' }, { order_id: 'o-3' }]);
  expect(await onefold.replay(`shop/${e(3)}`, act)).toMatchObject({ outcome: 'nothing_to_do' });
});

test('a replay while the effect still observes runs nothing', async () => {
  const { deliver, onefold } = await deploy([shipOrder('observe')]);
  await deliver(e(1), { order: 'o-1' });
  expect(await onefold.replay(`shop/${e(1)}`, act)).toMatchObject({ outcome: 'nothing_to_do' });
  expect(await shipped()).toEqual([]);
});

test('a row whose event was observed under another key is a conflict: the keys do not match', async () => {
  await fillClaimTable(stage, 1);
  const { deliver, onefold } = await deploy([shipOrder('observe')]);
  await deliver(e(1), { order: 'o-1' });
  const outcome = await onefold.adopt({
    ...act,
    source: 'shop',
    effect: 'ship-order',
    sql: shipments.replace("'shipment:'", "'ship:'"),
  });
  expect(outcome).toMatchObject({ adopted: 0, conflicts: 1 });
  expect(outcome.firstConflicts[0]?.why).toContain('"shipment:o-1"');
  expect(await stage.sql('SELECT 1 FROM onefold.effects')).toEqual([]);
});

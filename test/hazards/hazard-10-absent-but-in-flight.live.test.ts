import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Partner, startPartner } from '../faults/support/partner.js';
import { createHarness, type Harness, resultOf } from '../setup/harness.js';
import { configure, halfSentShop } from './support/half-sent-shop.js';
import { nudged } from './support/nudged.js';
import { orderPaid } from './support/shop.js';
import { spawnConfiguredWorker } from './support/spawn-configured-worker.js';
import { killWorkers } from './support/spawn-worker.js';
import { until } from './support/until.js';

/** It dedupes on nothing: whoever sends a whole request gets an effect. */
let partner: Partner;
let harness: Harness;
beforeAll(async () => {
  partner = await startPartner({ remembers: false });
  harness = await createHarness(configure({ partner: partner.url, freezes: false }), { worker: false });
});
afterAll(async () => {
  await killWorkers();
  await harness?.close();
  await partner?.close();
});

test('absent is not believed while a frozen worker may still send what it began: its bytes arrive, and the effect is one', async () => {
  const frozen = await spawnConfiguredWorker(harness, {
    module: halfSentShop,
    given: { partner: partner.url, freezes: true },
  });
  const event = orderPaid({}, { effects: ['charge'] });
  const businessKey = `charge:${event.id}`;
  const handle = await harness.start(event);
  await frozen.frozen();
  await harness.worker();
  const settling = () => harness.lines.filter(({ code }) => code === 'outcome_settling').length;
  await nudged([handle], async () => {
    // Twice: neither another question nor a person's `retryNow` makes the answer count earlier.
    await until('absent heard twice, or believed', () => settling() >= 2 || partner.calls(businessKey) > 0);
    expect(partner.taken(businessKey)).toEqual([]);
    const [row] = await harness.sql(
      `SELECT state, in_doubt, acting_until < clock_timestamp() AS lease_over FROM onefold.effects WHERE business_key = $1`,
      [businessKey],
    );
    expect(row).toMatchObject({ in_doubt: true, lease_over: true });

    frozen.kill('SIGCONT');
    await until('the rest of the request', () => partner.taken(businessKey).length > 0);
    expect(await resultOf(handle)).toMatchObject({
      outcome: 'done',
      effects: [{ result: { json: expect.stringContaining(partner.taken(businessKey)[0]?.id as string) } }],
    });
  });
  const superseded = await until('the word of the attempt that was frozen', async () => {
    const rows = await harness.sql('SELECT ended FROM onefold.superseded_attempts WHERE business_key = $1', [
      businessKey,
    ]);
    return rows.length > 0 && rows;
  });
  // Its answer came before or after it was given up.
  expect(superseded).toEqual([{ ended: expect.stringMatching(/^(performed|unknown)$/) }]);
  expect(partner.calls(businessKey)).toBe(1);
  expect(partner.taken(businessKey)).toHaveLength(1);
});

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { killWorkers } from '../hazards/support/spawn-worker.js';
import { until } from '../hazards/support/until.js';
import { seededRandom } from '../prove/random.js';
import { readHistory } from './crash/support/delivery-history.js';
import { type MeddlingProxy, startMeddlingProxy } from './crash/support/meddling-proxy.js';
import { randomMeddling } from './crash/support/random-meddling.js';
import { type ReceivingPartner, sourcePath, startReceivingPartner } from './crash/support/receiving-partner.js';
import { type Sender, spawnSender } from './crash/support/spawn-sender.js';
import { createDeliveryStage, type DeliveryStage } from './support/delivery-stage.js';

/** The test's own; it signs nothing elsewhere. */
const secret = 'whsec_b25lZm9sZC1yb3VuZC10cmlwLXRlc3Qta2V5LTE=';
const messages = 30;

/** Against hanging only. */
const hangsAfterMs = 300_000;

let stage: DeliveryStage;
let partner: ReceivingPartner;
let proxy: MeddlingProxy;
beforeAll(async () => {
  const random = seededRandom(30);
  partner = await startReceivingPartner(secret);
  proxy = await startMeddlingProxy(
    () => partner.origin,
    () => randomMeddling(random),
  );
  stage = await createDeliveryStage({ worker: false });
});
afterAll(async () => {
  await killWorkers();
  await stage?.close();
  await proxy?.close();
  await partner?.close();
});

test(
  'from publish to effect over a bad network, while senders and relays are killed: each has one effect',
  async () => {
    const { id: endpoint } = await stage.endpoint(`${proxy.url}${sourcePath}`, {
      secret,
      timeout: '2 seconds',
      schedule: Array.from({ length: 50 }, () => 500),
    });
    const senders: Sender[] = await Promise.all([spawnSender(stage), spawnSender(stage)]);
    const eventIds = new Map<string, string>();
    for (let number = 0; number < messages; number++) {
      const { publication, eventId } = await stage.publish();
      eventIds.set(publication, eventId);
      // In the middle of what they do, one after the other.
      const victim = number % 10 === 5 ? senders.shift() : undefined;
      if (victim) {
        await victim.kill();
        senders.push(await spawnSender(stage));
      }
      await sleep(100);
    }
    for (const publication of eventIds.keys()) {
      const end = await stage.end(endpoint, publication);
      expect(['delivered', 'already_delivered']).toContain('outcome' in end ? end.outcome : end.failed);
      expect(await stage.row(endpoint, publication)).toMatchObject({ state: 'delivered' });
    }
    await proxy.settled();
    const expected = [...eventIds.values()].sort();
    await until('the last effect', async () => (await partner.bookings()).length >= messages);
    expect((await partner.bookings()).sort()).toEqual(expected);

    // What was on the wire was written down before, and stands in the history.
    for (const [publication, eventId] of eventIds) {
      const wire = proxy.requests.filter(({ id }) => id === eventId).length;
      const rows = await stage.sql('SELECT 1 FROM onefold.publication_attempts WHERE publication = $1', [publication]);
      const { sends } = await readHistory(stage.handle(endpoint, publication));
      expect(wire).toBeGreaterThanOrEqual(1);
      expect(wire).toBeLessThanOrEqual(rows.length);
      expect(rows.length).toBeLessThanOrEqual(sends);
    }
    expect(new Set(proxy.requests.map(({ id }) => id))).toEqual(new Set(expected));
  },
  hangsAfterMs,
);

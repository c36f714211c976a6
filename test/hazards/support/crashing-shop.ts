import type { Configuration } from '../../setup/harness.js';
import { shop } from './shop.js';

/** Where a worker of a test dies or freezes. */
export type CrashPoint = 'none' | 'planning' | 'before' | 'inside' | 'after' | 'freeze';

/** Kills this process as an operating system does: nothing is flushed, nothing is answered. */
export function die(): never {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('still alive after SIGKILL');
}

/** A shop whose code kills or freezes its worker at the named point, for events that ask for it. */
export function crashingShop(crashAt: CrashPoint): Configuration {
  const shipOrder = shop.effect('ship-order', {
    on: 'order.paid',
    timeout: '2 seconds',
    retry: { initialInterval: 100, maximumInterval: 200, maximumAttempts: 3 },
    businessKey: ({ data }) => {
      if (crashAt === 'planning' || data.poison === 'plan') die();
      return `shipment:${data.order}`;
    },
    commit: async ({ event: { data }, tx }) => {
      await tx.query('INSERT INTO shipments (order_id, by_effect) VALUES ($1, $2)', [data.order, String(process.pid)]);
      if (crashAt === 'inside' || data.poison === 'commit') die();
      if (crashAt === 'freeze') process.kill(process.pid, 'SIGSTOP');
      const { rows } = await tx.query('SELECT count(*)::int AS rows FROM shipments WHERE order_id = $1', [data.order]);
      return { rows: rows[0]?.rows, pid: process.pid };
    },
  });
  return { sources: [shop], effects: [shipOrder] };
}

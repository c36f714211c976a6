import { proxyActivities } from '@temporalio/workflow';
import type { Order } from './insert-shipment.js';

const { insertShipment } = proxyActivities<{ insertShipment(order: Order): Promise<{ shipment: number }> }>({
  startToCloseTimeout: '30 seconds',
});

/** One event: one activity, which does one INSERT. */
export async function shipOrder(order: Order): Promise<{ shipment: number }> {
  return insertShipment(order);
}

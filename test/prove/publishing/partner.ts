import { setTimeout as sleep } from 'node:timers/promises';
import { createOnefold, standardWebhooks, types } from 'onefold';
import { endpoints, partnerQueue } from './sources.js';

const order = types<{ order: string }>();

/** What each source leads to. The business key is the event alone, so that another webhook-id would be another effect. */
const parts = endpoints.map(({ source, secret }) => {
  const publisher = standardWebhooks(source, {
    secrets: secret,
    events: { 'order.shipped': order, 'order.noted': order },
  });
  const book = publisher.effect(`book-${source}`, {
    on: ['order.shipped', 'order.noted'],
    businessKey: (event) => `booking:${source}:${event.id}`,
    timeout: '10 seconds',
    retry: { initialInterval: 200, maximumInterval: '2 seconds', maximumAttempts: 1000 },
    commit: async ({ event, tx }) => {
      if (Math.random() < 0.03) throw new Error('failing by itself, before the write');
      await tx.query('INSERT INTO proof.bookings (source, event) VALUES ($1, $2)', [source, event.id]);
      await sleep(Math.random() * 20);
      if (Math.random() < 0.03) throw new Error('failing by itself, after the write');
    },
  });
  return { publisher, book };
});

/** The application that receives. Its table has no unique constraint. */
export const onefold = createOnefold({
  sources: parts.map(({ publisher }) => publisher),
  effects: parts.map(({ book }) => book),
  taskQueue: partnerQueue,
});

import { z } from 'zod';
import { publications } from '../../../src/publisher/publications.js';
import { types } from '../../../src/sources/types.js';

/** What the tests publish. */
export const outgoing = publications({
  events: {
    'order.confirmed': z.object({ order: z.string(), amount: z.number().optional() }),
    'order.note': types<unknown>(),
    'user.created': types<{ user: string }>(),
  },
  retry: { 'order.confirmed': { schedule: ['10 seconds', '1 minute'], maximumElapsed: '1 hour' } },
});

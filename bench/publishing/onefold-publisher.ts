import { servePublisher } from './drive.js';
import { onefold } from './onefold.js';

const url = process.env.ENDPOINT_URL ?? '';
const { endpoints } = onefold;
const { items: known } = await endpoints.list();
// As many at once as are ever under way: what is measured is the machinery, not the bound.
if (known.length === 0) await endpoints.create({ url, types: ['*'], concurrency: 100 });

await servePublisher(url, (eventId) =>
  onefold.publish({ publication: `order:${eventId}:v1`, type: 'order.shipped', data: { order: eventId }, eventId }),
);

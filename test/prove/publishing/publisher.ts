import { createOnefold, publications, types } from 'onefold';
import { publisherQueue } from './sources.js';

/** The application that publishes. */
export const onefold = createOnefold({
  sources: [],
  effects: [],
  publications: publications({
    events: { 'order.shipped': types<{ order: string }>(), 'order.noted': types<{ order: string }>() },
  }),
  taskQueue: publisherQueue,
});

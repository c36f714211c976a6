import { createOnefold, publications, types } from 'onefold';

/** What is published, by both systems. */
export interface Shipped {
  readonly order: string;
}

const outgoing = publications({ events: { 'order.shipped': types<Shipped>() } });

export const onefold = createOnefold({
  sources: [],
  effects: [],
  publications: outgoing,
  egress: { allow: ['127.0.0.1'] },
});

/** The data of an event. */
export interface Order {
  readonly order: string;
}

/** The one statement that both systems carry out for an event. */
export const insertStatement = 'INSERT INTO bench.shipments (order_id) VALUES ($1) RETURNING id';

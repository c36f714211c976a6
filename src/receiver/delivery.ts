import type { EventKey } from '../identity/event-identity.js';
import type { Acknowledge } from '../sources/source.js';
import type { AnsweredCase } from './answers.js';
import type { DeliveryPath } from './delivery-path.js';

/** The source's name in metrics, logs and rows where the path names none: labels stay a closed set. */
export const unknownSource = '(unknown)';

/** What is known of a delivery, filled in as it becomes known; read by the answer, the log line and the row. */
export interface Delivery {
  readonly receivedAt: Date;
  /** Monotonic ms at arrival. */
  readonly arrivedMs: number;
  /** The act by which a person handed it in, without a signature. */
  readonly act?: string;
  source: string;
  acknowledge: Acknowledge;
  successStatus: number | undefined;
  tenant: string;
  /** `source/event-id`, as the provider spells it. */
  event?: string;
  eventKey?: EventKey;
  type?: string;
  /** SHA-256 of the body in hex, after any content encoding is undone, since providers compress each retry anew. */
  digest?: string;
  path?: DeliveryPath;
  bodyDiffers: boolean;
  /** The body as it came over the wire and as far as it was read, in pieces; undefined where none was, and once the event is known. */
  received?: readonly Uint8Array[] | undefined;
}

/** How a delivery that was not refused ends. */
export interface DeliveryEnd {
  readonly answer: AnsweredCase;
  readonly outcome?: string;
  /** The effects' results as JSON text. */
  readonly result?: string;
}

/** A delivery of which nothing is known yet, but by which act a person handed it in. */
export function arrivedDelivery(receivedAt: Date, act?: string): Delivery {
  return {
    receivedAt,
    arrivedMs: performance.now(),
    ...(act === undefined ? {} : { act }),
    source: unknownSource,
    acknowledge: 'durable',
    successStatus: undefined,
    tenant: '',
    bodyDiffers: false,
  };
}

import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { PublicationDelivery } from '../ledger/publications/read-publications.js';
import type { EventSchemas } from '../sources/source.js';

/** One message to be published. */
export interface PublicationFields<Type extends string = string, Data = unknown> {
  /**
   * The publication identity: the intent, such as `order:42:confirmed:v1`. Publishing it again is recognised whenever that
   * comes; a new intent needs a new one, such as the next version. 1 to 512 bytes.
   */
  readonly publication: string;
  /** A type of the catalogue; who subscribes to it gets the message. */
  readonly type: Type;
  /** What the schema of the type makes of it is sent, and nothing else. */
  readonly data: Data;
  /** Default: none. The `publish` and `publishIn` of the declaration take that of the event whose effect they are called in. */
  readonly tenant?: string;
  /**
   * The event identity, which receivers see as `webhook-id`: 1 to 256 visible ASCII characters without a full stop.
   * Default: made from tenant and publication.
   */
  readonly eventId?: string;
  /** False: one attempt per endpoint, whatever becomes of it. */
  readonly retry?: false;
}

/** A message of a catalogue: a union that its `type` discriminates. */
export type PublicationOf<Events extends EventSchemas> = {
  [Type in keyof Events & string]: PublicationFields<Type, StandardSchemaV1.InferInput<Events[Type]>>;
}[keyof Events & string];

/** What publishing came to. */
export interface Published {
  readonly publication: string;
  /** The `webhook-id` of every attempt at every endpoint. */
  readonly eventId: string;
  /** `already_published`: the same message was published before, and nothing was written. */
  readonly path: 'published' | 'already_published';
  /** Of the first time. */
  readonly publishedAt: Date;
  /** One for each endpoint that subscribed at that time, as they stand now. */
  readonly deliveries: readonly PublicationDelivery[];
}

/** The attempts at a message of some type, where the endpoint has no schedule of its own; null for the default. */
export interface TypeBudget {
  readonly pausesMs: readonly number[] | null;
  readonly elapsedMs: number | null;
}

/** What publishing needs of a catalogue. */
export interface PublicationCatalogue {
  readonly events: EventSchemas;
  readonly budgets: ReadonlyMap<string, TypeBudget>;
}

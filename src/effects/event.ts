import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { EventSchemas } from '../sources/source.js';

/** An event as business code sees it. */
export interface ReceivedEvent<Source extends string = string, Type extends string = string, Data = unknown> {
  readonly source: Source;
  /** The type as the source's `events` name it; of several, it discriminates the union. */
  readonly type: Type;
  /** The provider's event id, unchanged. */
  readonly id: string;
  /** '' where there is none. */
  readonly tenant: string;
  /** What the schema of the type made of the payload. */
  readonly data: Data;
  readonly receivedAt: Date;
  /** The provider's event time, where it gives one. */
  readonly occurredAt?: Date;
  /** The JSON text exactly as sent. */
  readonly raw: string;
  /** The whole payload with every number kept exactly, as `lossless-json` values; for amounts and ids beyond 2^53. */
  lossless(): unknown;
}

/** The events of a source as a union discriminated by `type`. */
export type EventOf<Source extends string, Events extends EventSchemas, Types extends keyof Events & string> = {
  [Type in Types]: ReceivedEvent<Source, Type, StandardSchemaV1.InferOutput<Events[Type]>>;
}[Types];

/** The events of a declared source, all of them or those of some types: `EventFrom<typeof shop, 'order.paid'>`. */
export type EventFrom<
  Source extends { readonly name: string; readonly events: EventSchemas },
  Types extends keyof Source['events'] & string = keyof Source['events'] & string,
> = EventOf<Source['name'], Source['events'], Types>;

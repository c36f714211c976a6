/** What an earlier system has done, as the ledger takes it. */
export interface AdoptedRow {
  readonly tenant: string;
  readonly businessKey: string;
  /** Undefined where the earlier system did not keep which event it was. */
  readonly event?: AdoptedEvent;
  /** JSON text. */
  readonly result?: string;
  readonly doneAt: Date;
}

/** The event that an earlier system did it for. */
export interface AdoptedEvent {
  readonly eventKey: string;
  readonly source: string;
  readonly id: string;
  readonly type: string;
  /** What a workflow of the event would be started with, as JSON text without the body. */
  readonly input: string;
}

/** Stands in the ledger for the event of a completion where the earlier system did not keep which one it was. */
export const adoptedEvent = 'adopted';

/** The columns of a list of rows, as statements take them. */
export function columnsOf(rows: readonly AdoptedRow[]): readonly (readonly unknown[])[] {
  return [
    rows.map(({ tenant }) => tenant),
    rows.map(({ businessKey }) => businessKey),
    rows.map(({ event }) => event?.eventKey ?? adoptedEvent),
    rows.map(({ event }) => (event ? `${event.source}/${event.id}` : adoptedEvent)),
    rows.map(({ result }) => result ?? null),
    rows.map(({ doneAt }) => doneAt.toISOString()),
  ];
}

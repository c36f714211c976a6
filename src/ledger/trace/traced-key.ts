/** What rows of a trace are read by: a tenant with the key of an event, or of a delivery. */
export interface TracedKey {
  /** '' where there is none. */
  readonly tenant: string;
  readonly key: string;
}

/** The two columns that a statement unnests again. */
export function columnsOf(keys: readonly TracedKey[]): readonly [tenants: readonly string[], keys: readonly string[]] {
  return [keys.map(({ tenant }) => tenant), keys.map(({ key }) => key)];
}

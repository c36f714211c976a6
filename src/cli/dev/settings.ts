/** What `onefold dev` was told by options and environment, checked. */
export interface DevSettings {
  /** The module that exports `onefold`, absolute. */
  readonly configFile: string;
  /** Where the receiver listens; the next free port is taken, any for 0. */
  readonly host: string;
  readonly port: number;
  /** Wished ports of the embedded servers, likewise. */
  readonly temporalPort: number;
  readonly uiPort: number;
  readonly postgresPort: number;
  /** The embedded servers' data, as given. */
  readonly dataFolder: string;
  /** Whether the data are thrown away at the end. */
  readonly ephemeral: boolean;
  /** Whether the ready line is JSON on standard output, and everything for people goes to standard error. */
  readonly json: boolean;
  /** A file of SQL that is run before the app starts, absolute; undefined for none. */
  readonly setupFile: string | undefined;
  /** The ledger's schema. */
  readonly schema: string | undefined;
  /** A PostgreSQL and a Temporal of the user's own; undefined for embedded ones. */
  readonly databaseUrl: string | undefined;
  readonly temporalAddress: string | undefined;
}

import { OnefoldError } from '../errors.js';
import { schemaName } from '../ledger/schema-name.js';
import type { LogLevel } from './logger.js';

/**
 * What this process is told by variables, each checked. Absent fields were not set; a variable that is set to nothing
 * counts as not set, since that is what a template with a hole leaves. Temporal's own `TEMPORAL_*` variables are read
 * where the connection is made.
 */
export interface Environment {
  /** `DATABASE_URL`: PostgreSQL, `postgres://…`. A secret; it never stands in a message. */
  readonly databaseUrl?: string;
  /** `ONEFOLD_SCHEMA`: the ledger's schema. */
  readonly schema?: string;
  /** `ONEFOLD_TASK_QUEUE` */
  readonly taskQueue?: string;
  /** `ONEFOLD_LOG_LEVEL` */
  readonly logLevel?: LogLevel;
  /** `ONEFOLD_HOST`: the address to listen on. */
  readonly host?: string;
  /** `ONEFOLD_PORT`: of the receiver. */
  readonly port?: number;
  /** `ONEFOLD_METRICS_PORT` */
  readonly metricsPort?: number;
  /** `ONEFOLD_CONFIG`: path of the module that exports `onefold`. */
  readonly config?: string;
  /** `ONEFOLD_DATA`: the data folder of the embedded servers. */
  readonly data?: string;
  /** `ONEFOLD_SETUP`: a file of SQL that `onefold dev` runs before the app starts. */
  readonly setup?: string;
  /** `ONEFOLD_SECRETS_KEYS`: what seals the secrets of endpoints, `<name>:<base64 of 32 bytes>`, comma separated. A secret. */
  readonly secretsKeys?: string;
  /** `ONEFOLD_EGRESS_ALLOW`: destinations that are allowed although they are not public, comma separated. */
  readonly egressAllow?: readonly string[];
  /** `ONEFOLD_EGRESS_ALLOW_TENANTS`: whether they are allowed to the endpoints of tenants too. */
  readonly egressAllowTenants?: boolean;
  /** `ONEFOLD_ADMIN_PORT`: of the admin API. */
  readonly adminPort?: number;
  /** `ONEFOLD_ADMIN_HOST`: the address it listens on. */
  readonly adminHost?: string;
  /** `ONEFOLD_ADMIN_TOKEN` and `ONEFOLD_ADMIN_READ_TOKEN`: who may act through it, and who may only read. Secrets. */
  readonly adminToken?: string;
  readonly adminReadToken?: string;
  /** `ONEFOLD_EPHEMERAL`: whether the embedded servers' data are thrown away at the end. */
  readonly ephemeral?: boolean;
  /** `ONEFOLD_TEMPORAL_PORT`: of the embedded Temporal server. */
  readonly temporalPort?: number;
  /** `ONEFOLD_UI_PORT`: of its Web UI. */
  readonly uiPort?: number;
  /** `ONEFOLD_POSTGRES_PORT`: of the embedded PostgreSQL. */
  readonly postgresPort?: number;
}

const logLevels: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error', 'silent'];

/** Words for yes and no, as other tools' variables take them. */
const yes: readonly string[] = ['1', 'true', 'yes'];
const no: readonly string[] = ['0', 'false', 'no'];

/**
 * Reads and checks the environment. A main calls it once and hands on the parts.
 *
 * @throws {OnefoldError} `config_invalid` naming the variable.
 */
export function readEnvironment(variables: NodeJS.ProcessEnv = process.env): Environment {
  const read = <Value>(name: string, check: (text: string, name: string) => Value): Value | undefined => {
    const text = variables[name]?.trim();
    return text === undefined || text === '' ? undefined : check(text, name);
  };
  const fields = {
    databaseUrl: read('DATABASE_URL', databaseUrl),
    schema: read('ONEFOLD_SCHEMA', schema),
    taskQueue: read('ONEFOLD_TASK_QUEUE', text),
    logLevel: read('ONEFOLD_LOG_LEVEL', logLevel),
    host: read('ONEFOLD_HOST', host),
    port: read('ONEFOLD_PORT', portNumber),
    metricsPort: read('ONEFOLD_METRICS_PORT', portNumber),
    config: read('ONEFOLD_CONFIG', text),
    data: read('ONEFOLD_DATA', text),
    setup: read('ONEFOLD_SETUP', text),
    secretsKeys: read('ONEFOLD_SECRETS_KEYS', text),
    egressAllow: read('ONEFOLD_EGRESS_ALLOW', list),
    egressAllowTenants: read('ONEFOLD_EGRESS_ALLOW_TENANTS', flag),
    adminPort: read('ONEFOLD_ADMIN_PORT', portNumber),
    adminHost: read('ONEFOLD_ADMIN_HOST', host),
    adminToken: read('ONEFOLD_ADMIN_TOKEN', text),
    adminReadToken: read('ONEFOLD_ADMIN_READ_TOKEN', text),
    ephemeral: read('ONEFOLD_EPHEMERAL', flag),
    temporalPort: read('ONEFOLD_TEMPORAL_PORT', portNumber),
    uiPort: read('ONEFOLD_UI_PORT', portNumber),
    postgresPort: read('ONEFOLD_POSTGRES_PORT', portNumber),
  };
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.freeze(Object.fromEntries(set)) as Environment;
}

/**
 * Reads a port from a variable or an option, whose name goes into the message.
 *
 * @throws {OnefoldError} `config_invalid` for anything but an integer from 0 (any free port) to 65535.
 */
export function portNumber(text: string, name: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw invalid(name, 'a port from 0 (any free one) to 65535', JSON.stringify(text));
  return port;
}

function text(value: string): string {
  return value;
}

function list(value: string): readonly string[] {
  return value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

function databaseUrl(value: string, name: string): string {
  // Only the scheme is looked at: `pg` knows forms that a URL parser refuses. The value holds a password.
  if (!/^postgres(ql)?:\/\/./.test(value)) throw invalid(name, 'a URL such as postgres://user:password@host:5432/name');
  return value;
}

function schema(value: string, name: string): string {
  try {
    schemaName(value);
  } catch (cause) {
    throw new OnefoldError('config_invalid', `${name}: ${(cause as Error).message}`, { cause });
  }
  return value;
}

function logLevel(value: string, name: string): LogLevel {
  const level = logLevels.find((known) => known === value);
  if (level === undefined) throw invalid(name, `one of ${logLevels.join(', ')}`, JSON.stringify(value));
  return level;
}

function host(value: string, name: string): string {
  if (/[\s/@]/.test(value)) throw invalid(name, 'a host name or an address, without a port', JSON.stringify(value));
  return value;
}

function flag(value: string, name: string): boolean {
  const word = value.toLowerCase();
  if (yes.includes(word)) return true;
  if (no.includes(word)) return false;
  throw invalid(name, `one of ${[...yes, ...no].join(', ')}`, JSON.stringify(value));
}

function invalid(name: string, expected: string, got?: string): OnefoldError {
  return new OnefoldError('config_invalid', `${name}: expected ${expected}${got === undefined ? '' : `, got ${got}`}`);
}

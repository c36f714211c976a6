import { randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { pino } from 'pino';
import { pgDatabase } from '../../../../src/ledger/pg-database.js';
import { schemaName } from '../../../../src/ledger/schema-name.js';
import type { EndpointsDependencies } from '../../../../src/operations/endpoints/endpoints-dependencies.js';
import { type EndpointsApi, tenantEndpoints } from '../../../../src/operations/endpoints/tenant-endpoints.js';
import { egressRules } from '../../../../src/runtime/egress-rules.js';
import { createSealer } from '../../../../src/runtime/seal.js';
import { createTestDatabase } from '../../../setup/database.js';

/** One line of the log. */
export interface LogLine {
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A ledger of a test file's own, and what the management of endpoints stands on. */
export interface EndpointsStage {
  readonly deps: EndpointsDependencies;
  readonly databaseUrl: string;
  readonly lines: readonly LogLine[];
  of(tenant: string): EndpointsApi;
  /** The same ledger with other keys. */
  withKeys(keys: string | undefined): EndpointsDependencies;
  sql<Row = Record<string, any>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

/** A key for ONEFOLD_SECRETS_KEYS. */
export function sealingKey(name: string): string {
  return `${name}:${randomBytes(32).toString('base64')}`;
}

export async function createEndpointsStage(keys: string | undefined = sealingKey('k1')): Promise<EndpointsStage> {
  const database = await createTestDatabase();
  const ledger = {
    database: pgDatabase({ connectionString: database.url, max: 12 }),
    schema: schemaName('onefold'),
  };
  const pool = new pg.Pool({ connectionString: database.url, max: 4 });
  pool.on('error', () => {});
  const lines: LogLine[] = [];
  const log = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line)) });
  const rules = egressRules(['127.0.0.1'], 'test', true);
  const deps = { ledger, sealer: createSealer(keys), egressRules: rules, log };
  return {
    deps,
    databaseUrl: database.url,
    lines,
    of: (tenant) => tenantEndpoints(deps, tenant),
    withKeys: (other) => ({ ...deps, sealer: createSealer(other) }),
    sql: async (text, values) => (await pool.query(text, values ? [...values] : undefined)).rows,
    async close() {
      await ledger.database.close();
      await pool.end();
      await database.drop();
    },
  };
}

/** A request as a receiver got it. */
export interface ReceivedRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A receiver on this machine that gives one answer to everything. */
export interface TestReceiver {
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
  close(): Promise<void>;
}

export async function startReceiver(status: number, answer = ''): Promise<TestReceiver> {
  const requests: ReceivedRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({ headers: request.headers, body: Buffer.concat(chunks) });
      response.writeHead(status).end(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hooks`,
    requests,
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}

/** The code that a promise is refused with. */
export async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'it was carried out',
    (error) => (error as { code?: unknown }).code ?? error,
  );
}

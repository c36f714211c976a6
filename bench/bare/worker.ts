import { fileURLToPath } from 'node:url';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import pg from 'pg';
import { insertStatement, type Order } from './insert-shipment.js';

// What one writes with Temporal alone: no ledger, no dedupe of effects, no dead letters.
Runtime.install({ logger: new DefaultLogger('WARN') });
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 32 });
const connection = await NativeConnection.connect({ address: process.env.TEMPORAL_ADDRESS ?? '' });
const worker = await Worker.create({
  connection,
  taskQueue: process.env.TASK_QUEUE ?? '',
  workflowsPath: fileURLToPath(new URL('./workflows.ts', import.meta.url)),
  activities: {
    async insertShipment({ order }: Order) {
      const { rows } = await pool.query<{ id: number }>(insertStatement, [order]);
      return { shipment: rows[0]?.id };
    },
  },
});
process.stdout.write('{"msg":"worker.ready"}\n');
await worker.run();
await connection.close();
await pool.end();

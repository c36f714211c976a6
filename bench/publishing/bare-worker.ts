import { fileURLToPath } from 'node:url';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { Agent, request } from 'undici';
import type { Message } from './bare-workflows.js';

// What one writes with Temporal alone: no record of what was published, no signature, no limits, no judged addresses.
Runtime.install({ logger: new DefaultLogger('WARN') });
const dispatcher = new Agent();
const connection = await NativeConnection.connect({ address: process.env.TEMPORAL_ADDRESS ?? '' });
const worker = await Worker.create({
  connection,
  taskQueue: process.env.TASK_QUEUE ?? '',
  workflowsPath: fileURLToPath(new URL('./bare-workflows.ts', import.meta.url)),
  activities: {
    async post({ url, eventId, data }: Message) {
      const { statusCode, body } = await request(url, {
        dispatcher,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'webhook-id': eventId },
        body: JSON.stringify({ type: 'order.shipped', timestamp: new Date().toISOString(), data }),
      });
      await body.dump();
      if (statusCode >= 300) throw new Error(`HTTP ${statusCode}`);
      return { status: statusCode };
    },
  },
});
process.stdout.write('{"msg":"worker.ready"}\n');
await worker.run();
await connection.close();
await dispatcher.close();

import type { AddressInfo } from 'node:net';
import { Client, Connection, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import express from 'express';

// What one writes with Express and Temporal alone: it verifies nothing, and any start that is refused is a duplicate.
const connection = await Connection.connect({ address: process.env.TEMPORAL_ADDRESS ?? '' });
const client = new Client({ connection });
const app = express();
app.post('/webhooks/bench', express.json(), async (request, response) => {
  try {
    await client.workflow.start('shipOrder', {
      workflowId: String(request.headers['webhook-id']),
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      taskQueue: process.env.TASK_QUEUE ?? '',
      args: [request.body.data],
    });
    response.status(202).json({ accepted: true });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    response.status(200).json({ accepted: false });
  }
});
const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`{"msg":"receiver.ready","url":"http://127.0.0.1:${port}/webhooks"}\n`);
});
process.once('SIGTERM', () => {
  server.close(() => void connection.close());
  server.closeIdleConnections();
});

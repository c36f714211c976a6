import { Client, Connection } from '@temporalio/client';
import type { sendMessage } from './bare-workflows.js';
import { servePublisher } from './drive.js';

// What one writes with Temporal alone: one workflow per message, started where it comes up.
const url = process.env.ENDPOINT_URL ?? '';
const connection = await Connection.connect({ address: process.env.TEMPORAL_ADDRESS ?? '' });
const client = new Client({ connection });

await servePublisher(url, (eventId) =>
  client.workflow.start<typeof sendMessage>('sendMessage', {
    workflowId: eventId,
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    taskQueue: process.env.TASK_QUEUE ?? '',
    args: [{ url, eventId, data: { order: eventId } }],
  }),
);

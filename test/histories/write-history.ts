import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { WorkflowHandle } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { progress } from './recording-servers.js';

/** Where recordings go: this folder, unless the command line names another one. */
const folder = process.argv[2] ?? fileURLToPath(new URL('.', import.meta.url));

/** Writes the history of a run, as it is now, to `<name>.json`. */
export async function writeHistory(name: string, handle: WorkflowHandle): Promise<void> {
  const history = JSON.parse(historyToJSON(await handle.fetchHistory()));
  const text = JSON.stringify({ workflowId: handle.workflowId, history: impersonal(history) }, null, 1);
  await writeFile(join(folder, `${name}.json`), `${text}\n`);
  progress(`recorded ${name}: ${history.events.length} events`);
}

/** Process and machine, as in identities and in the names of sticky task queues. */
const processName = /^\d+@/;

/** Leaves out what names this machine and what no replay reads. */
function impersonal(value: unknown, key = ''): unknown {
  if (key === 'stackTrace') return '';
  if (key === 'identity' || (typeof value === 'string' && processName.test(value))) return 'recorded';
  if (Array.isArray(value)) return value.map((member) => impersonal(member));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, impersonal(member, name)]));
}

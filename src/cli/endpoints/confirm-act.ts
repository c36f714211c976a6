import type { Endpoint } from '../../publisher/endpoint.js';
import { confirmed } from '../confirmed.js';
import { endpointLine } from './print-endpoint.js';

/**
 * Shows the endpoint that an act is about and what the act does to it, and asks.
 *
 * @returns False where the answer is no; the process then ends with 1.
 * @throws {OnefoldError} `confirmation_missing` where nobody can be asked.
 */
export async function confirmAct(endpoint: Endpoint, question: string): Promise<boolean> {
  process.stderr.write(`${endpointLine(endpoint)}\n`);
  if (await confirmed(question, 'confirmation_missing', 'add --yes')) return true;
  process.stderr.write('nothing was changed\n');
  process.exitCode = 1;
  return false;
}

import { Command } from 'commander';
import type { EndpointTest } from '../../operations/endpoints/test-endpoint.js';
import { plainLine } from './plain-line.js';
import { type EndpointFlags, print, runOnEndpoints, withTenantOptions } from './run-on-endpoints.js';

/** `onefold endpoints test` */
export function testEndpointCommand(): Command {
  const command = new Command('test')
    .description(
      'Send an endpoint one signed message of the type endpoint.test, and say what came of it. Nothing is recorded. Ends with 1 where it was not delivered.',
    )
    .argument('<id>', 'of the endpoint');
  return withTenantOptions(command).action((id: string, flags: EndpointFlags) =>
    runOnEndpoints(flags, async (endpoints) => {
      const test = await endpoints.test(id);
      print(flags, test, testInWords);
      if (test.decision !== 'delivered') process.exitCode = 1;
    }),
  );
}

function testInWords({ eventId, decision, status, code, message, durationMs, answer }: EndpointTest): string {
  const why = code === undefined ? '' : ` (${code}: ${plainLine(message ?? '')})`;
  const said = answer === undefined ? '' : `  it answered: ${plainLine(answer.slice(0, 200))}\n`;
  return `${status ?? 'no answer'} in ${durationMs} ms: ${decision}${why}\n${said}  webhook-id ${eventId}\n`;
}

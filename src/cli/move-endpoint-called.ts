import { Command } from 'commander';
import { type ActFlags, actOf, withActOptions } from './act-options.js';
import { stateInWords } from './endpoints/print-endpoint.js';
import { print, runOnAll } from './endpoints/run-on-endpoints.js';

/** `endpoint` under `onefold pause` and `onefold resume`: what `onefold endpoints pause` and `resume` do. */
export function moveEndpointCalled(move: 'pause' | 'resume', description: string): Command {
  const command = new Command('endpoint').description(description).argument('<id>', 'of the endpoint');
  return withActOptions(command, 'tenant of the endpoint (default: the one without a name)', false).action(
    (id: string, flags: ActFlags) =>
      runOnAll(flags, async (deps) => {
        const ref = { tenant: flags.tenant ?? '', id };
        if (flags.dryRun) {
          const { getEndpoint } = await import('../operations/endpoints/get-endpoint.js');
          print(flags, await getEndpoint(deps, ref), (now) => `${id}: ${stateInWords(now)}; it would be ${move}d\n`);
          return;
        }
        const { moveEndpoint } = await import('../operations/endpoints/move-endpoint.js');
        print(flags, await moveEndpoint(deps, ref, move, actOf(flags)), (after) => `${id}: ${stateInWords(after)}\n`);
      }),
  );
}

import { Command } from 'commander';
import { confirmAct } from './confirm-act.js';
import { stateInWords } from './print-endpoint.js';
import { type ActFlags, actOf, print, runOnEndpoints, withActOptions, withTenantOptions } from './run-on-endpoints.js';

interface RemoveFlags extends ActFlags {
  readonly yes?: boolean;
}

/** `onefold endpoints remove` */
export function removeEndpointCommand(): Command {
  const command = new Command('remove')
    .description(
      'Remove an endpoint for good: its secrets and headers are deleted, and deliveries that wait for it end as dead letters. Asks.',
    )
    .argument('<id>', 'of the endpoint')
    .option('--yes', 'do not ask');
  return withTenantOptions(withActOptions(command)).action((id: string, flags: RemoveFlags) =>
    runOnEndpoints(flags, async (endpoints) => {
      const question = 'Remove it for good? Deliveries that wait for it end as dead letters.';
      if (!flags.yes && !(await confirmAct(await endpoints.get(id), question))) return;
      print(flags, await endpoints.remove(id, actOf(flags)), (after) => `${id}: ${stateInWords(after)}\n`);
    }),
  );
}

import { Command } from 'commander';
import type { Move } from '../../operations/endpoints/move-endpoint.js';
import { confirmAct } from './confirm-act.js';
import { stateInWords } from './print-endpoint.js';
import { type ActFlags, actOf, print, runOnEndpoints, withActOptions, withTenantOptions } from './run-on-endpoints.js';

interface MoveFlags extends ActFlags {
  readonly yes?: boolean;
}

const descriptions: Readonly<Record<Move, string>> = {
  pause: 'Hold the deliveries of an endpoint: they wait, and spend no attempt.',
  resume: 'Let the deliveries of a paused endpoint go on.',
  disable: 'Take an endpoint out of service: its deliveries are held until it is enabled or their budget ends. Asks.',
  enable: 'Take a disabled endpoint back into service, whatever disabled it.',
};

/** `onefold endpoints pause`, `resume`, `disable` and `enable` */
export function moveEndpointCommand(move: Move): Command {
  const command = new Command(move).description(descriptions[move]).argument('<id>', 'of the endpoint');
  command.option(
    '--yes',
    move === 'disable' ? 'do not ask' : 'nothing is asked; for scripts that give it to every act',
  );
  return withTenantOptions(withActOptions(command)).action((id: string, flags: MoveFlags) =>
    runOnEndpoints(flags, async (endpoints) => {
      if (move === 'disable' && !flags.yes && !(await confirmAct(await endpoints.get(id), 'Disable it?'))) return;
      print(flags, await endpoints[move](id, actOf(flags)), (after) => `${id}: ${stateInWords(after)}\n`);
    }),
  );
}

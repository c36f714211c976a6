import { Command } from 'commander';
import { endpointInWords } from './print-endpoint.js';
import { type EndpointFlags, print, runOnEndpoints, withTenantOptions } from './run-on-endpoints.js';

/** `onefold endpoints show` */
export function showEndpointCommand(): Command {
  const command = new Command('show')
    .description('Show an endpoint: settings, state and why, latest attempts, open dead letters. Never its secrets.')
    .argument('<id>', 'of the endpoint');
  return withTenantOptions(command).action((id: string, flags: EndpointFlags) =>
    runOnEndpoints(flags, async (endpoints) => print(flags, await endpoints.show(id), endpointInWords)),
  );
}

import { Command, Option } from 'commander';
import type { EndpointState } from '../../publisher/endpoint.js';
import { endpointLine } from './print-endpoint.js';
import { type EndpointFlags, print, runOnEndpoints, withTenantOptions } from './run-on-endpoints.js';

interface ListFlags extends EndpointFlags {
  readonly state?: EndpointState;
  readonly type?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

/** `onefold endpoints list` */
export function listEndpointsCommand(): Command {
  const command = new Command('list')
    .description('List endpoints in the order of their creation, one a line: id, state, types, URL.')
    .addOption(
      new Option('--state <state>', 'those in this state (default: all but removed ones)').choices([
        'enabled',
        'paused',
        'disabled',
        'removed',
      ]),
    )
    .option('--type <type>', 'those which a message of this type would be sent to')
    .option('--limit <number>', 'how many, 1 to 200 (default 50)')
    .option('--cursor <text>', 'go on where the list before ended');
  return withTenantOptions(command).action(async ({ state, type, limit, cursor, ...flags }: ListFlags) => {
    await runOnEndpoints(flags, async (endpoints) => {
      const page = await endpoints.list({
        ...(state === undefined ? {} : { state }),
        ...(type === undefined ? {} : { type }),
        ...(limit === undefined ? {} : { limit: Number(limit) }),
        ...(cursor === undefined ? {} : { cursor }),
      });
      print(flags, page, ({ items }) => items.map((endpoint) => `${endpointLine(endpoint)}\n`).join(''));
      if (page.next !== undefined && !flags.json) {
        process.stderr.write(`there are more: the same command with --cursor ${page.next}\n`);
      }
    });
  });
}

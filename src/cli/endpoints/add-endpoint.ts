import { Command } from 'commander';
import type { EndpointSettings } from '../../publisher/endpoint-settings.js';
import { endpointLine } from './print-endpoint.js';
import { type ActFlags, actOf, print, runOnEndpoints, withActOptions, withTenantOptions } from './run-on-endpoints.js';
import { secretInWords, tellUnresolved } from './secret-in-words.js';
import { readGiven, readList, type SettingsFlags, settingsOf, withSettingsOptions } from './settings-options.js';

interface AddFlags extends ActFlags, SettingsFlags {
  readonly types: readonly string[];
  readonly secretFile?: string;
}

/** `onefold endpoints add` */
export function addEndpointCommand(): Command {
  const command = new Command('add')
    .description('Add an endpoint, enabled. Prints its signing secret, which is shown this once.')
    .argument('<url>', 'where messages go: https, or what ONEFOLD_EGRESS_ALLOW allows')
    .requiredOption(
      '--types <patterns>',
      "types it is sent, such as 'order.paid,invoice.*', or '*' for all but endpoint.*",
      readList,
    );
  withSettingsOptions(command).option(
    '--secret-file <file>',
    'its signing secret, where the receiver has one: a file, or - for standard input (default: a new one)',
  );
  return withTenantOptions(withActOptions(command)).action(async (url: string, flags: AddFlags) => {
    const settings = {
      ...(await settingsOf(flags)),
      url,
      ...(flags.secretFile === undefined ? {} : { secret: await readGiven(flags.secretFile) }),
    } as EndpointSettings;
    await runOnEndpoints(flags, async (endpoints) => {
      const created = await endpoints.create(settings, actOf(flags));
      tellUnresolved(created);
      print(flags, created, ({ endpoint, secret }) => `${endpointLine(endpoint)}\n${secretInWords(secret)}`);
    });
  });
}

import { Command, InvalidArgumentError } from 'commander';
import type { EndpointChanges } from '../../publisher/endpoint-settings.js';
import { endpointLine } from './print-endpoint.js';
import { type ActFlags, actOf, print, runOnEndpoints, withActOptions, withTenantOptions } from './run-on-endpoints.js';
import { tellUnresolved } from './secret-in-words.js';
import { readList, type SettingsFlags, settingsOf, withSettingsOptions } from './settings-options.js';

/** Settings that have a default, as options are spelt. */
const defaults = {
  description: 'description',
  headers: 'headers',
  'rate-limit': 'rateLimit',
  concurrency: 'concurrency',
  timeout: 'timeout',
  schedule: 'schedule',
  'maximum-elapsed': 'maximumElapsed',
  'at-most-once': 'atMostOnce',
} as const satisfies Record<string, keyof EndpointChanges>;

type Setting = keyof typeof defaults;

interface UpdateFlags extends ActFlags, SettingsFlags {
  readonly url?: string;
  readonly default?: readonly Setting[];
}

/** `onefold endpoints update` */
export function updateEndpointCommand(): Command {
  const command = new Command('update')
    .description('Change settings of an endpoint; those not named stay. Deliveries that wait go by the new ones.')
    .argument('<id>', 'of the endpoint')
    .option('--url <url>', 'where messages go')
    .option('--types <patterns>', 'types it is sent, in place of those it has', readList);
  withSettingsOptions(command).option(
    '--default <settings>',
    `take settings back to their defaults, such as 'schedule,timeout': any of ${Object.keys(defaults).join(', ')}`,
    readDefaults,
  );
  return withTenantOptions(withActOptions(command)).action(async (id: string, flags: UpdateFlags) => {
    const changes = {
      ...(await settingsOf(flags)),
      ...(flags.url === undefined ? {} : { url: flags.url }),
      ...Object.fromEntries((flags.default ?? []).map((setting) => [defaults[setting], null])),
    } as EndpointChanges;
    await runOnEndpoints(flags, async (endpoints) => {
      const updated = await endpoints.update(id, changes, actOf(flags));
      tellUnresolved(updated);
      print(flags, updated.endpoint, (endpoint) => `${endpointLine(endpoint)}\n`);
    });
  });
}

/** One text, and not as many as follow: the id of the endpoint may be among those. */
function readDefaults(text: string, before: readonly Setting[] = []): readonly Setting[] {
  const names = readList(text);
  if (names.length > 0 && names.every((name): name is Setting => Object.hasOwn(defaults, name))) {
    return [...before, ...names];
  }
  throw new InvalidArgumentError(`Allowed choices are ${Object.keys(defaults).join(', ')}.`);
}

import { Command } from 'commander';
import { withUnit } from '../with-unit.js';
import { type ActFlags, actOf, print, runOnEndpoints, withActOptions, withTenantOptions } from './run-on-endpoints.js';
import { secretInWords } from './secret-in-words.js';
import { readGiven } from './settings-options.js';

interface RotateFlags extends ActFlags {
  readonly overlap?: string;
  readonly secretFile?: string;
}

/** `onefold endpoints rotate-secret` */
export function rotateSecretCommand(): Command {
  const command = new Command('rotate-secret')
    .description(
      'Give an endpoint a new signing secret, and print it this once. The former ones sign beside it for a time.',
    )
    .argument('<id>', 'of the endpoint')
    .option(
      '--overlap <duration>',
      "how long the former secrets go on signing, up to '30 days'; 0 stops them at once (default 24 hours)",
      withUnit,
    )
    .option(
      '--secret-file <file>',
      'the new secret, where the receiver brings one: a file, or - for standard input (default: a new one)',
    );
  return withTenantOptions(withActOptions(command)).action(async (id: string, flags: RotateFlags) => {
    const options = {
      ...actOf(flags),
      ...(flags.overlap === undefined ? {} : { overlap: flags.overlap }),
      ...(flags.secretFile === undefined ? {} : { secret: await readGiven(flags.secretFile) }),
    };
    await runOnEndpoints(flags, async (endpoints) => {
      print(flags, await endpoints.rotateSecret(id, options), ({ secret, formerUntil }) => {
        const former = formerUntil ? `sign beside it until ${formerUntil.toISOString()}` : 'sign no more';
        return `${id}: the former secrets ${former}\n${secretInWords(secret)}`;
      });
    });
  });
}

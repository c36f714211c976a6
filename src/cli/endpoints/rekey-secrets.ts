import { Command } from 'commander';
import type { RekeyReport } from '../../operations/endpoints/rekey-secrets.js';
import { type EndpointFlags, print, runOnAll, withCommonOptions } from './run-on-endpoints.js';

/** `onefold endpoints rekey` */
export function rekeySecretsCommand(): Command {
  const command = new Command('rekey').description(
    'Seal the secrets and headers of all tenants with the first key of ONEFOLD_SECRETS_KEYS. Safe to repeat. Ends with 1 where some could not be opened.',
  );
  return withCommonOptions(command).action((flags: EndpointFlags) =>
    runOnAll(flags, async (deps) => {
      const { rekeySecrets } = await import('../../operations/endpoints/rekey-secrets.js');
      const report = await rekeySecrets(deps);
      print(flags, report, reportInWords);
      if (report.unreadable > 0) process.exitCode = 1;
    }),
  );
}

function reportInWords({ key, resealed, unreadable, unreadablePlaces }: RekeyReport): string {
  const named = unreadablePlaces.map(({ tenant, endpoint, what, key: sealedBy }) => {
    const whose = tenant === '' ? endpoint : `${endpoint} of ${tenant}`;
    return `  ${what} of ${whose}: sealed with '${sealedBy}', which is missing or another key\n`;
  });
  const left = unreadable === 0 ? '' : `; ${unreadable} could not be opened and are as they were`;
  return `${resealed} sealed anew with '${key}'${left}\n${named.join('')}`;
}

import { Command } from 'commander';
import { addEndpointCommand } from './endpoints/add-endpoint.js';
import { listEndpointsCommand } from './endpoints/list-endpoints.js';
import { moveEndpointCommand } from './endpoints/move-endpoint.js';
import { rekeySecretsCommand } from './endpoints/rekey-secrets.js';
import { removeEndpointCommand } from './endpoints/remove-endpoint.js';
import { rotateSecretCommand } from './endpoints/rotate-secret.js';
import { showEndpointCommand } from './endpoints/show-endpoint.js';
import { testEndpointCommand } from './endpoints/test-endpoint.js';
import { updateEndpointCommand } from './endpoints/update-endpoint.js';

/**
 * `onefold endpoints …`
 *
 * @param more Commands that stand beside these.
 */
export function endpointsCommand(...more: readonly Command[]): Command {
  const command = new Command('endpoints').description(
    'Manage where publications go. Secrets and headers are kept sealed with ONEFOLD_SECRETS_KEYS.',
  );
  // What the executable says of exit codes and help is known only when this one has become part of it.
  command.hook('preSubcommand', (_endpoints, subcommand) => void subcommand.copyInheritedSettings(command));
  for (const one of [
    addEndpointCommand(),
    listEndpointsCommand(),
    showEndpointCommand(),
    updateEndpointCommand(),
    moveEndpointCommand('pause'),
    moveEndpointCommand('resume'),
    moveEndpointCommand('disable'),
    moveEndpointCommand('enable'),
    rotateSecretCommand(),
    removeEndpointCommand(),
    testEndpointCommand(),
    ...more,
    rekeySecretsCommand(),
  ]) {
    command.addCommand(one);
  }
  return command;
}

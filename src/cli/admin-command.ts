import { once } from 'node:events';
import { Command, InvalidArgumentError } from 'commander';
import { portNumber, readEnvironment } from '../runtime/environment.js';
import { configOption } from './config-option.js';
import { loadConfig } from './load-config.js';

/** Where the admin API listens unless something else is said. */
const defaultPort = 8090;

interface AdminFlags {
  readonly config?: string;
  readonly host?: string;
  readonly port?: number;
}

/** `onefold admin` */
export function adminCommand(): Command {
  return new Command('admin')
    .description(
      'Serve the admin API over HTTP: events, endpoints, publications, deliveries, dead letters, acts, trace, pauses and replay.',
    )
    .option('--host <address>', 'address to listen on (ONEFOLD_ADMIN_HOST; default 127.0.0.1)')
    .option('--port <number>', `port to listen on, 0 for any (ONEFOLD_ADMIN_PORT; default ${defaultPort})`, port)
    .option(...configOption)
    .addHelpText(
      'after',
      '\nEvery request needs a bearer token of at least 24 characters: ONEFOLD_ADMIN_TOKEN may act and read,\n' +
        'ONEFOLD_ADMIN_READ_TOKEN may only read. Without one of them it does not start.',
    )
    .action(async (flags: AdminFlags) => {
      const { serveAdmin } = await import('./serve-admin.js');
      const { config, adminHost, adminPort, adminToken, adminReadToken } = readEnvironment();
      const onefold = await loadConfig(flags.config ?? config);
      try {
        const host = flags.host ?? adminHost;
        const admin = await serveAdmin(onefold, {
          ...(host === undefined ? {} : { host }),
          port: flags.port ?? adminPort ?? defaultPort,
          tokens: {
            ...(adminToken === undefined ? {} : { act: adminToken }),
            ...(adminReadToken === undefined ? {} : { read: adminReadToken }),
          },
        });
        await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
        await admin.stop();
      } finally {
        await onefold.close();
      }
    });
}

function port(text: string): number {
  try {
    return portNumber(text, 'port');
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

import { Client, Connection, type ConnectionOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { NativeConnection } from '@temporalio/worker';
import { OnefoldError } from '../errors.js';
import { searchAttributeTypes } from '../workflows/contract.js';
import type { Logger } from './logger.js';
import { attributeTypeNumbers, refusesCaller } from './operator-service.js';
import { refuseUnknownOptions } from './options.js';
import { replaceableConnection } from './replaceable-connection.js';

/** `true`, certificates, or `false` for none. */
export type TlsSetting = NonNullable<ConnectionOptions['tls']>;

/** Where Temporal is. Whatever is left out comes from `TEMPORAL_*` variables, then from the profile's file. */
export interface TemporalSettings {
  /** `host:port`. Default `localhost:7233`. */
  readonly address?: string;
  /** Default `default`. */
  readonly namespace?: string;
  /** Sent as a bearer token; implies TLS unless `tls` says otherwise. */
  readonly apiKey?: string;
  readonly tls?: TlsSetting;
  /** Name of a profile in Temporal's configuration file. Default: `TEMPORAL_PROFILE`, else `default`. */
  readonly profile?: string;
  /** Encodes and decodes payloads; the same for receivers and workers, or neither reads the other. */
  readonly dataConverter?: DataConverter;
  /** The environment to read. Default: this process's. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

const known: readonly (keyof TemporalSettings)[] = [
  'address',
  'namespace',
  'apiKey',
  'tls',
  'profile',
  'dataConverter',
  'environment',
];

/**
 * Refuses settings that nobody reads.
 *
 * @param place Where they stand, for the message.
 * @throws {OnefoldError} `config_invalid` naming the setting.
 */
export function checkTemporalSettings(settings: TemporalSettings, place = 'temporal'): void {
  refuseUnknownOptions(settings, known, place);
}

/** {@link TemporalSettings} with environment and profile read. */
export interface ResolvedTemporal {
  readonly address: string;
  readonly namespace: string;
  readonly connection: {
    readonly address: string;
    readonly apiKey?: string;
    readonly tls?: TlsSetting;
    readonly metadata?: Record<string, string>;
  };
}

/** A client and what it stands on. */
export interface TemporalClient {
  readonly client: Client;
  readonly address: string;
  readonly namespace: string;
  /** Closes the connection; calls still under way fail. */
  close(): Promise<void>;
}

/**
 * Reads environment and profile, explicit settings winning. Opens nothing.
 *
 * @throws {OnefoldError} `config_invalid` for an unknown setting, and when the configuration file or a variable cannot be
 * read.
 */
export function resolveTemporal(settings: TemporalSettings = {}): ResolvedTemporal {
  checkTemporalSettings(settings);
  const { connectionOptions: read, namespace } = readEnvironment(settings);
  const address = settings.address ?? read.address ?? 'localhost:7233';
  const apiKey = settings.apiKey ?? (typeof read.apiKey === 'string' ? read.apiKey : undefined);
  const tls = settings.tls ?? read.tls ?? (apiKey === undefined ? undefined : true);
  return {
    address,
    namespace: settings.namespace ?? namespace ?? 'default',
    connection: {
      address,
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(tls === undefined || tls === null ? {} : { tls }),
      ...(read.metadata ? { metadata: read.metadata as Record<string, string> } : {}),
    },
  };
}

function readEnvironment(settings: TemporalSettings): ReturnType<typeof loadClientConnectConfig> {
  const environment = Object.entries(settings.environment ?? process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  try {
    return loadClientConnectConfig({
      ...(settings.profile === undefined ? {} : { profile: settings.profile }),
      overrideEnvVars: Object.fromEntries(environment),
    });
  } catch (cause) {
    throw new OnefoldError('config_invalid', `Temporal's configuration cannot be read: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** gRPC's code for a server that cannot be reached or says that it cannot serve now. */
const unavailable = 14;

/**
 * Three short retries (0.1, 0.2, 0.4 s) instead of the SDK's ten, whose pauses ignore deadlines and reach 19 s; a larger
 * request than the server takes fails at once instead of after 40 s. A provider's own retry is worth more than ours.
 */
const boundedRetry = makeGrpcRetryInterceptor({
  retryableDecider: (attempt, status) => attempt < 4 && status.code === unavailable,
  delayFunction: (attempt) => 50 * 2 ** attempt,
});

/**
 * Makes a client for short calls under a deadline. Nothing is opened before its first call, so that a receiver boots
 * while Temporal is away; it finds a server that came back within half a second, and one that went silent without closing
 * its connections within some 6 seconds of calls.
 *
 * @throws {OnefoldError} `config_invalid` as {@link resolveTemporal}.
 */
export function connectClient(settings: TemporalSettings = {}): TemporalClient {
  const { address, namespace, connection: options } = resolveTemporal(settings);
  const open = (): Connection =>
    Connection.lazy({
      ...options,
      channelArgs: {
        'grpc.use_local_subchannel_pool': 1,
        'grpc.initial_reconnect_backoff_ms': 100,
        'grpc.max_reconnect_backoff_ms': 500,
        // Temporal's frontend ends connections that ping more often than every 10 seconds.
        'grpc.keepalive_time_ms': 15_000,
        'grpc.keepalive_timeout_ms': 3_000,
      },
      interceptors: [boundedRetry],
    });
  const connection = replaceableConnection(open);
  const { dataConverter } = settings;
  const client = new Client({ connection, namespace, ...(dataConverter ? { dataConverter } : {}) });
  return { client, address, namespace, close: () => connection.close() };
}

/** What {@link connectWorker} needs beside the settings. */
export interface ConnectWorkerOptions {
  readonly log: Logger;
  /** Ends the waiting. */
  readonly signal?: AbortSignal;
  /** Pause between tries, ms. Default 1000. */
  readonly retryEveryMs?: number;
}

/** A connection that takes longer stands before a server that accepts and never answers. */
const workerConnectMs = 10_000;

/**
 * Opens the connection of a worker, waiting for Temporal as long as it takes, with a log line when it begins to wait
 * and one every 30 tries. The native module is loaded here, not before, so that a receiver never loads it.
 *
 * @throws {OnefoldError} `config_invalid` as {@link resolveTemporal}; the signal's reason when aborted.
 */
export async function connectWorker(
  settings: TemporalSettings,
  options: ConnectWorkerOptions,
): Promise<NativeConnection> {
  const { address, connection } = resolveTemporal(settings);
  const { log, signal, retryEveryMs = 1000 } = options;
  const { NativeConnection, TransportError } = await import('@temporalio/worker');
  for (let tries = 0; ; tries++) {
    signal?.throwIfAborted();
    try {
      return await openInTime(NativeConnection.connect(connection));
    } catch (error) {
      // A certificate that cannot be read will not mend itself; only the way to the server is worth waiting for.
      if (!(error instanceof TransportError || error instanceof ConnectTimeout)) throw error;
      if (tries % 30 === 0) log.warn({ address, reason: error.message }, 'temporal.waiting');
    }
    await pause(retryEveryMs, signal);
  }
}

class ConnectTimeout extends Error {}

async function openInTime(opening: Promise<NativeConnection>): Promise<NativeConnection> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ConnectTimeout('accepts connections but does not answer')), workerConnectMs);
  });
  try {
    return await Promise.race([opening, late]);
  } catch (error) {
    // A connection that opens after all has no owner any more.
    opening.then(
      (connection) => connection.close(),
      () => undefined,
    );
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', aborted);
    };
    const aborted = (): void => {
      done();
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      done();
      resolve();
    }, ms);
    signal?.addEventListener('abort', aborted, { once: true });
  });
}

/** The operator service answers in a few ms; longer means that Temporal is away. */
const readAttributesMs = 2_000;

/**
 * Reads which of Onefold's search attributes are registered with a usable type; only those may be set, since a start
 * that names another one is refused and a workflow that upserts one runs for ever. A server that refuses to tell, as
 * some hosted ones do, counts as having none.
 *
 * @throws {ServiceError} When Temporal did not answer within 2 seconds.
 */
export async function readSearchAttributes(client: Client, namespace: string): Promise<ReadonlySet<string>> {
  const read = client.withDeadline(Date.now() + readAttributesMs, () =>
    client.connection.operatorService.listSearchAttributes({ namespace }),
  );
  try {
    const { customAttributes } = await read;
    const usable = Object.entries(searchAttributeTypes).filter(
      ([name, type]) => customAttributes[name] === attributeTypeNumbers[type],
    );
    return new Set(usable.map(([name]) => name));
  } catch (error) {
    if (refusesCaller(error)) return new Set();
    throw error;
  }
}

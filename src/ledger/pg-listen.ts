import pg from 'pg';

/** What a listening connection needs. */
export interface PgListenOptions {
  readonly connectionString: string;
  readonly channel: string;
  readonly applicationName: string;
  readonly connectTimeoutMs: number;
  /** Called at each notification, and each time the connection is there anew, since some may have been missed before. */
  readonly onNotify: () => void;
  /** Told why the connection was lost, or could not be had. */
  readonly onError?: (error: Error) => void;
}

/** Pauses between tries of a connection, ms; the last one is repeated. Whoever listens polls meanwhile. */
const pausesMs = [100, 500, 1_000, 2_000, 5_000];

/**
 * Listens on a channel over a connection of its own until the returned function is called. A connection that is lost is
 * opened anew; the first one is waited for no longer than it takes to be tried.
 */
export async function pgListen(options: PgListenOptions): Promise<() => Promise<void>> {
  let stopped = false;
  let current: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;

  const again = (): void => {
    if (stopped) return;
    const pauseMs = pausesMs[Math.min(failures, pausesMs.length - 1)];
    failures += 1;
    timer = setTimeout(() => void open(), pauseMs);
  };

  const open = async (): Promise<void> => {
    const client = new pg.Client({
      connectionString: options.connectionString,
      application_name: options.applicationName,
      connectionTimeoutMillis: options.connectTimeoutMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    });
    let lost = false;
    const lose = (error: Error): void => {
      if (lost) return;
      lost = true;
      if (current === client) current = undefined;
      if (!stopped) options.onError?.(error);
      void client.end().catch(() => {});
      again();
    };
    client.on('error', lose);
    client.on('end', () => lose(new Error('the connection was closed')));
    client.on('notification', () => options.onNotify());
    current = client;
    try {
      await client.connect();
      await client.query(`LISTEN ${quoted(options.channel)}`);
    } catch (error) {
      lose(error as Error);
      return;
    }
    failures = 0;
    options.onNotify();
  };

  await open();
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await current?.end().catch(() => {});
  };
}

function quoted(channel: string): string {
  return `"${channel.replaceAll('"', '""')}"`;
}

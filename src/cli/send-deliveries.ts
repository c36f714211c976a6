import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OnefoldError } from '../errors.js';
import type { Source } from '../sources/define-source.js';
import { signedHeaders } from '../sources/signed-headers.js';
import { readPayload } from './read-payload.js';

/** What `onefold send` is asked for. */
export interface SendOptions {
  /** Path of a JSON file, or '-' for standard input. */
  readonly file: string;
  readonly source: Source;
  /** The receiver's URL of the source. */
  readonly url: string;
  readonly id?: string;
  readonly type?: string;
  /** Deliveries of the same event. */
  readonly times: number;
  /** How many of them at once. */
  readonly concurrency: number;
  /** Pause between two deliveries (or batches of them), ms. */
  readonly everyMs: number;
}

/** What came back for one delivery. */
export interface SentDelivery {
  readonly status: number;
  readonly path: string | undefined;
  readonly event: string | undefined;
  readonly body: string;
  readonly ms: number;
}

/** A receiver answers in 2 s, or in the source's own deadline; beyond this it hangs. */
const answerWithinMs = 60_000;

/**
 * Sends a payload as the provider would: signed with the source's first secret, the same identity in every delivery, the
 * signature made anew for each.
 *
 * @param onAnswer Told each answer as it comes.
 * @throws {OnefoldError} `config_invalid` when the file cannot be read or the receiver cannot be reached.
 */
export async function sendDeliveries(options: SendOptions, onAnswer: (sent: SentDelivery) => void): Promise<void> {
  const body = await readPayload(options.file);
  const id = options.id ?? identityOf(body);
  const type = typeOf(body, options);
  for (let sent = 0; sent < options.times; sent += options.concurrency) {
    if (sent > 0) await sleep(options.everyMs);
    const batch = Math.min(options.concurrency, options.times - sent);
    const answers = await Promise.all(Array.from({ length: batch }, () => deliver(options, body, id, type)));
    for (const answer of answers) onAnswer(answer);
  }
}

async function deliver({ source, url }: SendOptions, body: Buffer, id: string, type: string): Promise<SentDelivery> {
  const began = performance.now();
  const headers = signedHeaders(source, { body, id, type, now: new Date() });
  let response: Response;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      signal: AbortSignal.timeout(answerWithinMs),
    });
  } catch (cause) {
    throw new OnefoldError('config_invalid', `no receiver answers at ${url}: start one, or name it by --url`, {
      cause,
    });
  }
  const text = await response.text();
  const event = response.headers.get('onefold-event');
  return {
    status: response.status,
    path: response.headers.get('onefold-path') ?? undefined,
    event: event === null ? undefined : decodeURIComponent(event),
    body: text,
    ms: performance.now() - began,
  };
}

/** The body's own id, else one that the body gives: sending the same file again is a redelivery, as from a provider. */
function identityOf(body: Buffer): string {
  const { id } = parsed(body);
  return typeof id === 'string' && id !== ''
    ? id
    : `evt_${createHash('sha256').update(body).digest('hex').slice(0, 16)}`;
}

/** What was asked for, else the body's own, else the file's name. */
function typeOf(body: Buffer, { type: asked, file }: Pick<SendOptions, 'type' | 'file'>): string {
  const { type: own } = parsed(body);
  return asked ?? (typeof own === 'string' && own !== '' ? own : basename(file, '.json'));
}

function parsed(body: Buffer): { readonly id?: unknown; readonly type?: unknown } {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    // Sent as it is: how the receiver refuses it may be what is to be seen.
    return {};
  }
}

import { readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import {
  createEgressClient,
  type EgressClient,
  type EgressClientOptions,
  type EgressRequest,
  type Exchange,
} from '../../../../src/publisher/egress/egress-client.js';
import { egressRules } from '../../../../src/runtime/egress-rules.js';

/** What development allows. */
export const loopback = ['127.0.0.0/8', '::1'];

/** A client for one test. */
export function clientOf(options: EgressClientOptions = {}, allow: readonly string[] = loopback): EgressClient {
  const client = createEgressClient(egressRules(allow, 'test'), options);
  onTestFinished(() => client.close());
  return client;
}

/** A message to a URL. */
export function messageTo(url: string, more: Partial<EgressRequest> = {}): EgressRequest {
  return {
    url,
    headers: { 'content-type': 'application/json', 'webhook-id': 'msg_out' },
    body: Buffer.from('{"type":"order.confirmed","data":{"order":"ord_21"}}'),
    timeoutMs: 5_000,
    ...more,
  };
}

/** Sends one message with a client of its own. */
export function sendTo(url: string, more: Partial<EgressRequest> = {}): Promise<Exchange> {
  return clientOf().send(messageTo(url, more));
}

/** A file of `certificates`. */
export function pem(name: string): string {
  return readFileSync(new URL(`./certificates/${name}`, import.meta.url), 'utf8');
}

/** One case from the field, as its file says it. */
export function fieldCase(id: string): { readonly given: any; readonly expect: any } {
  return JSON.parse(readFileSync(new URL(`../../../cases/${id}.json`, import.meta.url), 'utf8'));
}

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdminApi } from '../../../src/admin/create-admin-api.js';
import type { Onefold } from '../../../src/onefold.js';
import { operationsContext } from '../../../src/operations/context.js';
import { createDeliveryStage, type DeliveryStage } from '../../publisher/support/delivery-stage.js';

export const actToken = 'act-token-of-the-tests-0001';
export const readToken = 'read-token-of-the-tests-001';

/** An answer of the admin API. */
export interface AdminAnswered {
  readonly status: number;
  readonly headers: Headers;
  readonly json: any;
}

/** How a request differs from one with the token that may act. */
export interface AskOptions {
  /** Null for none. */
  readonly token?: string | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The admin API of an application over HTTP. */
export interface ServedApi {
  readonly url: string;
  ask(method: string, path: string, options?: AskOptions): Promise<AdminAnswered>;
  close(): Promise<void>;
}

/** The admin API over HTTP, on an application of its own. */
export interface AdminStage extends ServedApi {
  readonly stage: DeliveryStage;
}

export async function createAdminStage(options: { readonly worker?: boolean } = {}): Promise<AdminStage> {
  const stage = await createDeliveryStage(options);
  const { close, ...api } = await serveApi(stage.onefold as Pick<Onefold, typeof operationsContext | 'publish'>);
  return {
    stage,
    ...api,
    async close() {
      await close();
      await stage.close();
    },
  };
}

export async function serveApi(onefold: Pick<Onefold, typeof operationsContext | 'publish'>): Promise<ServedApi> {
  const app = createAdminApi(
    {
      context: onefold[operationsContext],
      publish: (publication) => onefold.publish(publication as never),
    },
    { act: actToken, read: readToken },
  );
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    async ask(method, path, { token = actToken, body, headers = {} } = {}) {
      const raw = typeof body === 'string' || body instanceof Uint8Array;
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: raw ? (body as never) : JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, json: text === '' ? undefined : JSON.parse(text) };
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

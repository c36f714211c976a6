import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { reconcile } from '../../../src/effects/recovery.js';
import { askPartner } from '../../faults/support/call-partner.js';
import type { Configuration } from '../../setup/harness.js';
import { haltHere } from './halt-here.js';
import type { EffectCall } from './post-effect.js';
import { shop } from './shop.js';

/** What each of its processes is told. */
export interface HalfSent {
  readonly partner: string;
  /** It freezes when half of its request is out. */
  readonly freezes: boolean;
}

/** A shop whose client is the worst there can be: its bytes go out whenever they can, whatever its signal says. */
export function configure({ partner, freezes }: HalfSent): Configuration {
  const charge = shop.externalEffect('charge', {
    on: 'order.paid',
    businessKey: ({ data }) => `charge:${data.order}`,
    timeout: '1 hour',
    heartbeat: '500ms',
    retry: { initialInterval: 50, maximumInterval: 100 },
    recovery: reconcile((call) => askPartner(partner, call), { settleAfter: '10 minutes' }),
    perform: ({ signal: _unheard, ...call }) =>
      sendInHalves(partner, call, async () => {
        if (freezes) await haltHere('SIGSTOP');
      }),
  });
  return { sources: [shop], effects: [charge] };
}

/** Its module, for workers in processes of their own. */
export const halfSentShop = import.meta.url;

async function sendInHalves(
  url: string,
  { businessKey, idempotencyKey }: Omit<EffectCall, 'signal'>,
  inTheMiddle: () => Promise<void>,
): Promise<{ id: string }> {
  const body = JSON.stringify({ business: businessKey });
  // HTTP/1.0: the answer ends with its connection.
  const head = ['POST /effects HTTP/1.0', `idempotency-key: ${idempotencyKey}`, `content-length: ${body.length}`];
  const request = [...head, '', body].join('\r\n');
  const half = request.length - Math.ceil(body.length / 2);
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  await new Promise<void>((resolve) => void socket.write(request.slice(0, half), () => resolve()));
  await inTheMiddle();
  socket.write(request.slice(half));
  const [, answer = ''] = (await text(socket)).split('\r\n\r\n');
  return { id: (JSON.parse(answer) as { id: string }).id };
}

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { now, signedDelivery, sources } from './signed-deliveries.js';

/** Ways in which a body is written again by something that parsed it. */
const rewritings: readonly ((text: string) => string)[] = [
  (text) => JSON.stringify(JSON.parse(text)),
  (text) => JSON.stringify(JSON.parse(text), null, 2),
  (text) => `${text}\n`,
  (text) => text.replaceAll('é', '\\u00e9'),
];

it.each(Object.entries(sources))('%s refuses the same JSON in other bytes', (_name, source) => {
  const value = fc.record({ id: fc.string(), type: fc.string(), amount: fc.double(), data: fc.jsonValue() });
  fc.assert(
    fc.property(value, fc.constantFrom(...rewritings), (body, rewrite) => {
      const sent = JSON.stringify({ ...body, note: 'é' }, null, 1);
      const delivery = signedDelivery(source, sent);
      const rewritten = { ...delivery, rawBody: Buffer.from(rewrite(sent)) };
      expect(source.verify(delivery, { now })).toMatchObject({ ok: true });
      expect(source.verify(rewritten, { now })).toMatchObject({ ok: false, code: 'signature_mismatch' });
    }),
  );
});

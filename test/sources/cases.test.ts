import { describe, expect, it } from 'vitest';
import type { Identified } from '../../src/sources/source.js';
import { standardWebhooks } from '../../src/sources/standard-webhooks.js';
import { types } from '../../src/sources/types.js';
import { judge, namesAnswered, readCase } from './read-case.js';

const codesOf401 = [
  'signature_missing',
  'signature_malformed',
  'signature_mismatch',
  'signature_scheme_unsupported',
  'timestamp_too_old',
  'timestamp_too_new',
];

describe('raw-body-as-sent', () => {
  const known = readCase('raw-body-as-sent');

  it.each(namesAnswered(known, '2xx'))('the delivery %s is accepted byte for byte', (name) => {
    expect(known.outcomes.get(name)).toMatchObject({ ok: true, type: 'ping' });
  });

  it('a body that a proxy wrote again is refused', () => {
    expect(known.outcomes.get('rewritten-by-a-proxy')).toMatchObject({ ok: false, code: 'signature_mismatch' });
  });

  it('a form-encoded payload is read after the verdict over the form', () => {
    expect(known.outcomes.get('form-encoded')).toMatchObject({ body: { zen: 'café & tea' } });
  });
});

describe('signature-valid-one-is-last', () => {
  const known = readCase('signature-valid-one-is-last');

  it.each(namesAnswered(known, '2xx'))('one matching signature among several is enough: %s', (name) => {
    expect(known.outcomes.get(name)).toMatchObject({ ok: true });
  });

  it('the right MAC under an unknown version counts for nothing', () => {
    expect(known.outcomes.get('right-mac-under-unknown-version')).toMatchObject({ code: 'signature_mismatch' });
  });
});

describe('signature-empty-absent-or-downgraded', () => {
  const known = readCase('signature-empty-absent-or-downgraded');

  it('no usable signature is as good as a wrong one', () => {
    const codes = Object.fromEntries([...known.outcomes].map(([name, outcome]) => [name, !outcome.ok && outcome.code]));
    expect(codes).toEqual({
      'no-header': 'signature_missing',
      'empty-value': 'signature_missing',
      'version-and-nothing': 'signature_mismatch',
      'version-without-comma': 'signature_malformed',
      'prefix-of-the-right-one': 'signature_mismatch',
      'hub-no-header': 'signature_missing',
      'hub-sha1-only': 'signature_scheme_unsupported',
      'hub-sha256-wrong-sha1-right': 'signature_mismatch',
    });
  });
});

describe('signing-secret-not-a-key', () => {
  const { given, expect: expected } = readCase('signing-secret-not-a-key', [
    'whsec_b25lZm9sZC1mYWtlLTI1LWJ5dGVzLWtleQ',
  ]);
  const configurations = (given.configurations as { name: string; secrets: string[] }[]).map(({ name, secrets }) => {
    const { accepted } = (expected.configurations as { name: string; accepted: boolean }[]).find(
      (configuration) => configuration.name === name,
    )!;
    return { name, secrets, accepted };
  });

  it.each(configurations.filter(({ accepted }) => !accepted))(
    'the secret $name is refused by a sentence that names the source and holds none of it',
    ({ secrets }) => {
      const { preset } = standardWebhooks('shop', { secrets, events: { any: types<unknown>() } });
      let message = '';
      try {
        preset.readSecrets();
      } catch (error) {
        expect(error).toMatchObject({ code: 'secret_invalid' });
        message = (error as Error).message;
      }
      expect(message).toContain("source 'shop'");
      const pasted = secrets[0]!.replace(/^(v1,)?(whsec_)?/, '');
      if (pasted !== '') expect(message).not.toContain(pasted);
    },
  );

  it.each(configurations.filter(({ accepted }) => !accepted))(
    'no request is judged under the secret $name',
    ({ secrets }) => {
      expect(() => readCase('signing-secret-not-a-key', secrets)).toThrow(/secret/);
    },
  );

  it('an unpadded secret verifies the genuine delivery and neither forgery', () => {
    const { secrets } = configurations.find(({ accepted }) => accepted)!;
    const { outcomes } = readCase('signing-secret-not-a-key', secrets);
    expect(outcomes.get('genuine-for-the-unpadded-secret')).toMatchObject({ ok: true });
    expect(outcomes.get('forged-with-empty-key')).toMatchObject({ code: 'signature_mismatch' });
    expect(outcomes.get('forged-with-one-byte-key')).toMatchObject({ code: 'signature_mismatch' });
  });
});

describe('timestamp-outside-the-window', () => {
  const known = readCase('timestamp-outside-the-window');

  it.each(namesAnswered(known, '2xx'))('a timestamp %s is accepted', (name) => {
    expect(known.outcomes.get(name)).toMatchObject({ ok: true });
  });

  it.each(namesAnswered(known, 401))('a timestamp that is %s is refused with a code of 401', (name) => {
    const outcome = known.outcomes.get(name)!;
    expect(outcome.ok ? 'accepted' : outcome.code).toBeOneOf(codesOf401);
  });

  it('too old and too new are told apart', () => {
    expect(known.outcomes.get('too-old')).toMatchObject({ code: 'timestamp_too_old' });
    expect(known.outcomes.get('too-new')).toMatchObject({ code: 'timestamp_too_new' });
  });
});

describe('event-id-missing-or-blank', () => {
  const known = readCase('event-id-missing-or-blank');

  it.each([...known.outcomes.keys()])('an event whose id is %s is refused as one without identity', (name) => {
    expect(known.outcomes.get(name)).toMatchObject({ ok: false, code: 'identity_missing', reason: 'missing_identity' });
  });
});

describe('event-id-beyond-2-to-the-53', () => {
  it('ids beyond 2^53 keep their digits, and a retry keeps its id', () => {
    const { outcomes } = readCase('event-id-beyond-2-to-the-53');
    expect([...outcomes].map(([name, outcome]) => [name, (outcome as Identified).id])).toEqual([
      ['first', '9007199254740992'],
      ['second', '9007199254740993'],
      ['third', '9223372036854775807'],
      ['second-again', '9007199254740993'],
    ]);
  });

  it('the text that reaches business code has the digits that were sent', () => {
    const { outcomes } = readCase('event-id-beyond-2-to-the-53');
    expect((outcomes.get('third') as Identified).json).toContain('"transfer":9223372036854775807');
  });
});

describe('event-id-reused-across-accounts', () => {
  it('each account, mode and provider is a source of its own, which verifies its own requests', () => {
    const { outcomes } = readCase('event-id-reused-across-accounts');
    expect([...outcomes.values()].map((outcome) => (outcome as Identified).id)).toEqual(Array(5).fill('evt_0001'));
  });
});

describe('payload-nul-and-proto-keys', () => {
  const { outcomes } = readCase('payload-nul-and-proto-keys');

  it('a NUL in a payload is kept, in the text and in the value', () => {
    const event = outcomes.get('nul-character') as Identified;
    expect(event.json).toContain('a\\u0000b');
    expect(event.body).toMatchObject({ data: { note: 'a\0b' } });
  });

  it('a spelt-out escape stays eight characters', () => {
    expect((outcomes.get('spelled-out-escape') as Identified).body).toMatchObject({ data: { note: 'a\\u0000b' } });
  });

  it('keys that change prototypes are in the text, and reach neither a copy nor a merge', () => {
    const event = outcomes.get('proto-keys') as Identified;
    expect(event.json).toContain('"__proto__":{"isAdmin":true}');
    const body = event.body as { data: { metadata: object } };
    for (const copy of [Object.assign({}, body), Object.assign({}, body.data.metadata), merge({}, body)]) {
      expect((copy as { isAdmin?: unknown }).isAdmin).toBeUndefined();
      expect((copy as { refund?: unknown }).refund).toBeUndefined();
    }
    expect(({} as { isAdmin?: unknown }).isAdmin).toBeUndefined();
    expect(({} as { refund?: unknown }).refund).toBeUndefined();
    expect(body.data).toMatchObject({ order: 'ord_14' });
  });
});

describe('same-id-fresh-signature-on-each-attempt', () => {
  it('each attempt is signed anew under the same id, and a receiver verifies all of them as one event', () => {
    const { now, given } = readCase('same-id-fresh-signature-on-each-attempt');
    const { id, type, body } = given.message as { id: string; type: string; body: string };
    const source = standardWebhooks('shop', {
      secrets: given.secret as string,
      events: { 'order.confirmed': types<unknown>() },
    });
    const rawBody = Buffer.from(body);
    const attempts = [0, 60, 1260].map((seconds) => {
      const at = new Date(now.getTime() + seconds * 1000);
      return { at, headers: source.preset.sign({ body: rawBody, id, type, now: at }) };
    });

    expect(new Set(attempts.map(({ headers }) => headers['webhook-signature'])).size).toBe(3);
    for (const { at, headers } of attempts) {
      const request = { method: 'POST', url: 'https://receiver.example/shop', headers, rawBody };
      expect(judge(source, request, at)).toMatchObject({ ok: true, id, type });
    }
    const last = { method: 'POST', url: 'https://receiver.example/shop', headers: attempts[0]!.headers, rawBody };
    expect(judge(source, last, attempts[2]!.at)).toMatchObject({ ok: false, code: 'timestamp_too_old' });
  });
});

/** A deep merge as it is often written, which walks into whatever the target answers for a key. */
function merge(target: Record<string, unknown>, source: object): Record<string, unknown> {
  for (const [key, value] of Object.entries(source)) {
    if (typeof value === 'object' && value !== null) {
      target[key] ??= {};
      merge(target[key] as Record<string, unknown>, value);
    } else {
      target[key] = value;
    }
  }
  return target;
}

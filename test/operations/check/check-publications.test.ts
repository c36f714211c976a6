import { expect, onTestFinished, test, vi } from 'vitest';
import { createOnefold } from '../../../src/onefold.js';
import { checkConfiguration } from '../../../src/operations/check/check-configuration.js';
import { checkPublications } from '../../../src/operations/check/check-publications.js';
import { operationsContext } from '../../../src/operations/context.js';
import { type PublicationRetryOptions, publications } from '../../../src/publisher/publications.js';
import { egressRules } from '../../../src/runtime/egress-rules.js';
import { createSealer } from '../../../src/runtime/seal.js';
import { types } from '../../../src/sources/types.js';

const goodKeys = `k1:${Buffer.alloc(32, 1).toString('base64')}`;

interface Checked {
  readonly retry?: PublicationRetryOptions;
  readonly keys?: string;
  readonly allow?: readonly string[];
  readonly tenants?: boolean;
  readonly production?: boolean;
}

function check({ retry = {}, keys = goodKeys, allow = [], tenants = false, production = false }: Checked = {}) {
  const events = { 'order.shipped': types<unknown>() };
  return checkPublications(
    {
      publications: publications({ events, retry: { 'order.shipped': retry } }),
      sealer: createSealer(keys),
      egressRules: egressRules(allow, 'test', tenants),
    },
    production,
  );
}

test('both identities are named, and every point at which a delivery may be left says what goes on', () => {
  const { publications: checked, findings } = check();
  expect(findings).toEqual([]);
  expect(checked?.publicationIdentity.workflowId).toBe('publication/<tenant>/<endpoint>/<publication>');
  expect(checked?.eventIdentity.header).toBe('webhook-id');
  expect(checked?.whatFinishes.map(({ point }) => point)).toEqual([
    'queued',
    'taken',
    'started',
    'sending',
    'answered',
  ]);
  expect(checked?.whatFinishes[1]?.finishes).toContain('30 seconds');
});

test('a type without a schedule of its own has the default one', () => {
  expect(check().publications?.types).toEqual([
    { type: 'order.shipped', maximumAttempts: 11, scheduleMs: 272_135_000, maximumElapsedMs: 432_000_000 },
  ]);
});

test('a configuration that publishes nothing has no publications and no finding of them', async () => {
  const onefold = createOnefold({ sources: [], effects: [], egress: { allow: ['10.0.0.0/8'] } });
  const options = { offline: true, graceMs: 10_000, production: true };
  const report = await checkConfiguration(onefold[operationsContext], options);
  expect(report).toMatchObject({ ok: true, publications: null, findings: [], notes: 0 });
  expect(report.leftOut.join()).not.toContain('endpoints');
});

test('a schedule beyond the elapsed time is a warning that counts the attempts which are made', () => {
  const retry = { schedule: ['1 hour', '2 hours', '3 hours'], maximumElapsed: '3 hours' };
  expect(check({ retry }).findings).toMatchObject([
    {
      id: 'schedule_exceeds_elapsed',
      place: "publications 'order.shipped'",
      message: expect.stringContaining('come to 6 hours, and its messages are given up 3 hours after publishing: of 4'),
    },
  ]);
  expect(check({ retry }).findings[0]?.message).toMatch(/at most 3 are made$/);
});

test.each([
  ['a schedule that just fits', { schedule: ['1 hour', '2 hours'], maximumElapsed: '3 hours' }],
  ['an elapsed time that cuts the default schedule', { maximumElapsed: '1 hour' }],
])('%s is no finding', (_what, retry) => {
  expect(check({ retry }).findings).toEqual([]);
});

test('a schedule is judged against the default elapsed time where a type has none of its own', () => {
  const found = (last: string) => check({ retry: { schedule: ['3 days', last] } }).findings.map(({ id }) => id);
  expect(found('2 days')).toEqual([]);
  expect(found('49 hours')).toEqual(['schedule_exceeds_elapsed']);
});

test.each([
  ['no colon', 'bm90LWEta2V5', 'entry 1 of 1 has no colon'],
  ['a short key', `${goodKeys},k0:c2hvcnQ=`, 'entry 2 of 2 is not the base64 of 32 bytes'],
])('keys with %s are a problem, offline too, and none of them is shown', (_what, keys, message) => {
  const [found, ...others] = check({ keys }).findings;
  expect(others).toEqual([]);
  expect(found).toMatchObject({ id: 'secrets_keys_invalid', level: 'problem', place: 'ONEFOLD_SECRETS_KEYS' });
  expect(found?.message).toContain(message);
  expect(JSON.stringify(found)).not.toMatch(/bm90LWEta2V5|c2hvcnQ/);
});

test('keys that are not set are no finding without a ledger, since there may be no endpoint', () => {
  expect(check({ keys: '' }).findings).toEqual([]);
});

test('what is not public and allowed is a warning in production alone, and is not named', () => {
  const allow = ['localhost', '10.1.0.0/16', '::1'];
  expect(check({ allow }).findings).toEqual([]);
  expect(check({ production: true }).findings).toEqual([]);
  const [found] = check({ allow, production: true }).findings;
  expect(found).toMatchObject({ id: 'egress_allowed_in_production', level: 'warning' });
  expect(found?.message).toContain('1 host name and 2 addresses or ranges');
  expect(found?.message).toMatch(/whoever may add endpoints without a tenant reaches them$/);
  expect(JSON.stringify(found)).not.toContain('10.1.0.0');
  const [open] = check({ allow, tenants: true, production: true }).findings;
  expect(open?.message).toMatch(/whoever may add endpoints reaches them$/);
});

test.each([
  [{ allow: ['10.0.0.0/8'] }, undefined, false],
  [{ allow: ['10.0.0.0/8'] }, 'true', true],
  [{ allow: ['10.0.0.0/8'], tenants: true }, undefined, true],
  [{ tenants: false }, 'true', false],
  [{}, 'true', true],
])('with egress %o and the variable %s tenants are let in: %s', (egress, variable, tenants) => {
  vi.stubEnv('ONEFOLD_EGRESS_ALLOW_TENANTS', variable);
  onTestFinished(() => void vi.unstubAllEnvs());
  const onefold = createOnefold({ sources: [], effects: [], egress });
  expect(onefold[operationsContext].egressRules.tenants).toBe(tenants);
});

test('a setting that is wrong is a finding, not a defect', () => {
  const context = {
    publications: publications({ events: { note: types<unknown>() } }),
    sealer: createSealer(goodKeys),
    get egressRules() {
      return egressRules(['http://localhost'], 'ONEFOLD_EGRESS_ALLOW');
    },
  };
  expect(checkPublications(context, false).findings).toMatchObject([
    { id: 'config_invalid', message: expect.stringContaining('ONEFOLD_EGRESS_ALLOW') },
  ]);
});

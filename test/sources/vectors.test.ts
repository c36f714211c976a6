import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { judgeVectors, type Vector, type VectorFile } from '../../scripts/judge-vectors.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'test/vectors');
const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as VectorFile;

describe('the published vectors', () => {
  it.each(readdirSync(folder))('every vector of %s agrees', (name) => {
    expect(judgeVectors(read(name))).toMatchObject({ supported: true, differing: [] });
  });
});

describe('judging vectors', () => {
  const file = read('shopify.json');
  const [valid] = file.vectors;
  const refused = file.vectors.find((vector) => vector.name === 'invalid/missing-topic')!;
  const differencesOf = (vector: Vector) =>
    judgeVectors({ ...file, vectors: [vector] }).differing.flatMap(({ differences }) => differences);
  const broken = (expectation: object) => differencesOf({ ...valid!, expect: { ...valid!.expect, ...expectation } });

  it.each([
    { event_id: 'another' },
    { event_id: null },
    { id_parts: ['another'] },
    { event_type: 'another' },
    { event_action: 'another' },
    { event_time: '2026-03-14T09:26:52.124Z' },
    { delivery_id: 'another' },
    { scope: 'another' },
    { retry: 1 },
    { events: [] },
  ])('a wrong expectation %j is noticed', (expectation) => {
    expect(broken(expectation)).toHaveLength(1);
    expect(broken(expectation)[0]).toContain(Object.keys(expectation)[0]);
  });

  it('a wrong verdict is noticed on both sides', () => {
    expect(broken({ valid: false })).toEqual(['valid: expected false, and it was accepted']);
    expect(differencesOf({ ...refused, expect: { valid: true } })[0]).toMatch(
      /^valid: expected true, and it was refused/,
    );
  });

  it('a wrong reason is noticed, and any of several is taken', () => {
    expect(differencesOf({ ...refused, expect: { valid: false, reason: 'timestamp_too_old' } })).toHaveLength(1);
    const reason_any = ['timestamp_too_old', 'missing_header'];
    expect(differencesOf({ ...refused, expect: { valid: false, reason: 'timestamp_too_old', reason_any } })).toEqual(
      [],
    );
  });

  it('a changed body, header, secret or clock is noticed', () => {
    const body_base64 = Buffer.from('{}').toString('base64');
    expect(differencesOf({ ...valid!, body_base64 })).toHaveLength(1);
    expect(differencesOf({ ...valid!, headers: {} })).toHaveLength(1);
    expect(differencesOf({ ...valid!, secrets: ['another'] })).toHaveLength(1);
    const stripe = read('stripe.json');
    const late = { ...stripe.vectors[0]!, now: '2027-01-01T00:00:00Z' };
    expect(judgeVectors({ ...stripe, vectors: [late] }).differing).toHaveLength(1);
  });

  it('a handshake, a secret that cannot be a key and an empty file are noticed', () => {
    expect(differencesOf({ ...valid!, kind: 'handshake' })).toHaveLength(1);
    expect(differencesOf({ ...valid!, secrets: [''] })[0]).toMatch(/^threw .*secret/);
    expect(() => judgeVectors({ ...file, vectors: [] })).toThrow('no vectors');
  });

  it('a part sha256(body) stands for the digest of the raw body', () => {
    const [difference] = broken({ id_parts: ['sha256(body)'] });
    expect(difference).toMatch(/expected \["[0-9a-f]{64}"\]/);
  });
});

describe('npm run vectors', () => {
  const temporary = mkdtempSync(join(tmpdir(), 'onefold-vectors-'));
  afterAll(() => rmSync(temporary, { recursive: true }));
  const run = (...args: string[]) =>
    spawnSync(process.execPath, ['--import', 'tsx', 'scripts/vectors.ts', ...args], { cwd: root, encoding: 'utf8' });

  it('exits 0 where all vectors agree', { timeout: 30_000 }, () => {
    const { status, stdout } = run(folder);
    expect({ status, lines: stdout.trim().split('\n').length }).toEqual({ status: 0, lines: 5 });
    expect(stdout).toContain('stripe.json: stripe, 19 of 19 vectors agree');
  });

  it('exits 1 for a difference, naming it, and for a provider without a preset', { timeout: 30_000 }, () => {
    const file = read('shopify.json');
    const wrong = { ...file.vectors[0]!, expect: { valid: true, event_type: 'another' } };
    writeFileSync(join(temporary, 'shopify.json'), JSON.stringify({ ...file, vectors: [wrong] }));
    const differing = run(temporary);
    expect(differing.status).toBe(1);
    expect(differing.stdout).toContain('event_type: expected "another", got "orders/create"');

    writeFileSync(join(temporary, 'shopify.json'), JSON.stringify({ ...file, provider: 'carrier-pigeon' }));
    expect(run(temporary)).toMatchObject({ status: 1, stdout: expect.stringContaining('not yet supported') });
    expect(run(temporary, '--allow-missing').status).toBe(0);
  });

  it('exits 2 for wrong usage', { timeout: 30_000 }, () => {
    expect(run().status).toBe(2);
    expect(run(join(temporary, 'nothing-here')).status).toBe(2);
    expect(run(folder, '--alow-missing').status).toBe(2);
  });
});

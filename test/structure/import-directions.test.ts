import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const src = fileURLToPath(new URL('../../src', import.meta.url));

/** What each folder may import from; itself goes without saying. Single files stand under their own name. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  'errors.ts': [],
  identity: ['errors.ts'],
  runtime: ['errors.ts', 'identity', 'ledger', 'workflows'],
  sources: ['errors.ts', 'identity', 'runtime', 'effects'],
  ledger: ['errors.ts', 'identity', 'runtime', 'workflows'],
  effects: ['errors.ts', 'identity', 'runtime', 'ledger', 'sources', 'workflows'],
  workflows: ['identity', 'activities'],
  activities: ['errors.ts', 'identity', 'runtime', 'ledger', 'effects', 'sources', 'publisher', 'workflows'],
  publisher: ['errors.ts', 'identity', 'runtime', 'ledger', 'effects', 'sources', 'workflows'],
  worker: ['errors.ts', 'runtime', 'ledger', 'effects', 'activities', 'publisher', 'workflows'],
  receiver: ['errors.ts', 'identity', 'runtime', 'ledger', 'effects', 'sources', 'workflows'],
  operations: [
    'errors.ts',
    'identity',
    'runtime',
    'ledger',
    'effects',
    'publisher',
    'receiver',
    'sources',
    'workflows',
  ],
  admin: ['errors.ts', 'identity', 'runtime', 'ledger', 'publisher', 'operations'],
  'onefold.ts': [
    'errors.ts',
    'runtime',
    'ledger',
    'effects',
    'sources',
    'workflows',
    'receiver',
    'publisher',
    'worker',
    'operations',
    'admin',
  ],
  cli: [
    'errors.ts',
    'runtime',
    'ledger',
    'sources',
    'publisher',
    'worker',
    'operations',
    'admin',
    'onefold.ts',
    'workflows',
  ],
  testing: [
    'errors.ts',
    'identity',
    'runtime',
    'ledger',
    'effects',
    'sources',
    'workflows',
    'receiver',
    'worker',
    'operations',
    'onefold.ts',
  ],
  'index.ts': [
    'errors.ts',
    'runtime',
    'ledger',
    'effects',
    'sources',
    'publisher',
    'worker',
    'operations',
    'onefold.ts',
  ],
};

interface Import {
  readonly file: string;
  readonly target: string;
  readonly typeOnly: boolean;
  readonly dynamic: boolean;
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesOf(path) : entry.name.endsWith('.ts') ? [path] : [];
  });
}

function importsOf(path: string): Import[] {
  const text = readFileSync(path, 'utf8');
  const found = text.matchAll(/^(?:import|export)\s+(type\s)?([^;]*?)from '([^']+)';|import\('([^']+)'\)/gms);
  return [...found].map(([, type, names, from, dynamic]) => ({
    file: relative(src, path),
    target: from ?? dynamic ?? '',
    dynamic: dynamic !== undefined,
    typeOnly: type !== undefined || (names !== undefined && /^\{(\s*type [^,}]+,?)+\s*\}\s*$/.test(names)),
  }));
}

const places = (path: string): string => relative(src, path).split('/')[0] ?? '';
const all = filesOf(src).flatMap((path) => importsOf(path).map((one) => ({ ...one, path })));
const inside = all
  .filter(({ target }) => target.startsWith('.'))
  .map((one) => ({
    ...one,
    from: places(one.path),
    to: resolve(dirname(one.path), one.target).replace(/\.js$/, '.ts'),
  }));

test('every folder has its rule', () => {
  const folders = new Set(filesOf(src).map(places));
  expect([...folders].sort()).toEqual(Object.keys(allowed).sort());
});

test('imports point one way', () => {
  const wrong = inside.filter(({ from, to }) => places(to) !== from && !allowed[from]?.includes(places(to)));
  expect(wrong.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
});

test('nothing inside imports an index.ts but the worker, the activities', () => {
  const wrong = inside.filter(({ to, file }) => /\bindex\.ts$/.test(to) && !/^(worker|workflows)\//.test(file));
  expect(wrong.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
});

test('workflows are deterministic: only the SDK, the identities, and types', () => {
  const wrong = all.filter(({ file, target, typeOnly }) => {
    if (!file.startsWith('workflows/') || typeOnly) return false;
    return !/^(\.\/|\.\.\/identity\/|@temporalio\/(workflow|common)$)/.test(target);
  });
  expect(wrong.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
});

test('identities are pure: no module of Node, no dependency', () => {
  const wrong = all.filter(({ file, target }) => file.startsWith('identity/') && !target.startsWith('.'));
  expect(wrong).toEqual([]);
});

test('others take from the workflows only their contract, and types', () => {
  const wrong = inside.filter(
    ({ from, to, typeOnly }) =>
      from !== 'workflows' && places(to) === 'workflows' && !to.endsWith('contract.ts') && !typeOnly,
  );
  expect(wrong.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
});

/** Every module that is loaded together with one, not counting types and what is loaded later. */
function loadedWith(entry: string, later = false): ReadonlySet<string> {
  const reached = new Set<string>();
  const reach = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const one of inside) if (one.path === file && !one.typeOnly && (later || !one.dynamic)) reach(one.to);
  };
  reach(join(src, entry));
  return reached;
}

test('the main entry, the workflows and the executable never load the test kit, not even later', () => {
  for (const entry of ['index.ts', 'workflows/index.ts', 'cli/main.ts']) {
    const files = [...loadedWith(entry, true)].map((path) => relative(src, path));
    expect(files.length).toBeGreaterThan(10);
    expect(files.filter((file) => file.startsWith('testing/'))).toEqual([]);
  }
  const loaders = all
    .filter(({ target }) => target === '@temporalio/testing')
    .map(({ file }) => places(join(src, file)));
  expect(new Set(loaders)).toEqual(new Set(['testing']));
});

test('the test kit leaves the choice of a test runner to its users', () => {
  const runners = all.filter(
    ({ file, target }) => file.startsWith('testing/') && /^(vitest|jest|mocha|node:test)/.test(target),
  );
  expect(runners).toEqual([]);
});

test('a process that only receives never loads the native worker', () => {
  const reached = loadedWith('index.ts');
  const native = all.filter(({ path, target, typeOnly, dynamic }) => {
    return reached.has(path) && target === '@temporalio/worker' && !typeOnly && !dynamic;
  });
  expect(reached.size).toBeGreaterThan(50);
  expect(native.map(({ file }) => file)).toEqual([]);
});

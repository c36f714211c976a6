// Builds dist: JavaScript and types, the ledger's migrations, and the workflows as one bundle, so that a worker starts in
// half a second and without a bundler. Built beside dist and put in its place when whole: a running `onefold dev` or a
// second build never sees half of one.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';
import { stampBuild } from './build-stamp.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** @returns The exit code of the compiler, whose messages go to standard error. */
function compile(folder) {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [tsc, '-p', 'tsconfig.build.json', '--outDir', folder];
  return spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 2, 2] }).status ?? 1;
}

async function bundleWorkflows(folder) {
  const quiet = () => {};
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(folder, 'workflows', 'index.js'),
    logger: { log: quiet, trace: quiet, debug: quiet, info: quiet, warn: console.error, error: console.error },
  });
  writeFileSync(join(folder, 'workflows', 'workflow-bundle.js'), withoutPlace(code, folder));
}

/**
 * Takes the place of this build out of a bundle and its source map, which stack traces in histories are made from: the
 * same sources give the same bundle on any machine.
 */
function withoutPlace(code, folder) {
  const clean = (text) => text.replaceAll(relative(root, folder), 'dist').replaceAll(`${root}/`, 'onefold/');
  const inlineMap = /(\/\/# sourceMappingURL=data:application\/json;[^,]*base64,)([\w+/=]+)/;
  return clean(code).replace(inlineMap, (_, head, map) => {
    return head + Buffer.from(clean(Buffer.from(map, 'base64').toString())).toString('base64');
  });
}

async function build() {
  const stamp = stampBuild(root);
  const cache = join(root, 'node_modules', '.cache');
  mkdirSync(cache, { recursive: true });
  // Inside the root, where node_modules is found and a rename stays on one file system.
  const work = mkdtempSync(join(cache, 'onefold-build-'));
  try {
    const incoming = join(work, 'dist');
    const code = compile(incoming);
    if (code !== 0) return code;
    cpSync(join(root, 'src', 'ledger', 'migrations'), join(incoming, 'ledger', 'migrations'), { recursive: true });
    // `npx onefold` in a clone runs the file itself; npm sets this only for what it installs.
    chmodSync(join(incoming, 'cli', 'main.js'), 0o755);
    await bundleWorkflows(incoming);
    stamp(incoming);
    const dist = join(root, 'dist');
    if (existsSync(dist)) renameSync(dist, join(work, 'previous'));
    renameSync(incoming, dist);
    return 0;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

process.exitCode = await build();

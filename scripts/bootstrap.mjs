// What `npm start` and `npm test` run, right after `git clone` as well as later: it brings the installed dependencies
// and the build up to date, then hands over. Plain Node without dependencies, since it is there before they are.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isBuilt } from './build-stamp.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const [task = 'help', ...rest] = process.argv.slice(2);

// Everything up to the hand-over is for people: standard output belongs to the task (`npm start -- --json`).
const say = (line) => process.stderr.write(`${line}\n`);

/**
 * Whether node_modules holds what package-lock.json says, by the lock that npm keeps of what it installed. Optional
 * packages may be missing: most are for other platforms.
 */
function isInstalled() {
  try {
    const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
    const present = JSON.parse(readFileSync(join(root, 'node_modules', '.package-lock.json'), 'utf8')).packages;
    return Object.entries(wanted).every(([path, { version, optional }]) => {
      if (path === '') return true;
      return present[path] === undefined ? optional === true : present[path].version === version;
    });
  } catch {
    return false;
  }
}

/** Runs a command to its end. @returns Its exit code. */
function run(command, args, stdio) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio });
    // A terminal's Ctrl-C reaches the child by itself, and this process must live to hear how the child ended.
    const ignore = () => {};
    const pass = () => child.kill('SIGTERM');
    process.on('SIGINT', ignore).on('SIGTERM', pass);
    child.once('error', reject);
    child.once('exit', (code) => {
      process.off('SIGINT', ignore).off('SIGTERM', pass);
      resolve(code ?? 1);
    });
  });
}

/** Ends with the command's exit code unless it is 0. */
async function mustRun(command, args, stdio = 'inherit') {
  const code = await run(command, args, stdio);
  if (code !== 0) process.exit(code);
}

async function prepare() {
  const toStderr = ['ignore', 2, 2];
  if (!isInstalled()) {
    say('installing the locked dependencies (npm ci); this takes a minute, once');
    const npm = process.env.npm_execpath;
    const [command, args] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []];
    await mustRun(command, [...args, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], toStderr);
  }
  if (!isBuilt(root)) {
    say('building dist');
    await mustRun(process.execPath, [join(root, 'scripts', 'build.mjs')], toStderr);
  }
}

/** npm that is killed passes nothing on; what it started would go on without anybody to stop it. */
function endWithParent() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, 250).unref();
}

const module = (...path) => join(root, 'node_modules', ...path);

async function check() {
  say('biome check');
  await mustRun(process.execPath, [module('@biomejs', 'biome', 'bin', 'biome'), 'check']);
  say('tsc --noEmit');
  await mustRun(process.execPath, [module('typescript', 'bin', 'tsc'), '--noEmit']);
}

const tasks = {
  async start() {
    await prepare();
    const main = join(root, 'dist', 'cli', 'main.js');
    endWithParent();
    // In this very process: npm then waits for `onefold dev` itself, and passes signals on to it.
    const shop = ['--config', 'examples/shop/onefold.ts', '--setup', 'examples/shop/schema.sql'];
    process.argv = [process.execPath, main, 'dev', ...shop, ...rest];
    await import(pathToFileURL(main).href);
  },
  async test() {
    await prepare();
    await check();
    await mustRun(process.execPath, [module('vitest', 'vitest.mjs'), 'run', ...rest]);
  },
  async check() {
    await prepare();
    await check();
  },
  build: prepare,
};

if (!existsSync(join(root, 'package-lock.json')) || !(task in tasks)) {
  say(`usage: node scripts/bootstrap.mjs ${Object.keys(tasks).join('|')} [arguments]`);
  process.exit(2);
}
process.chdir(root);
await tasks[task]();

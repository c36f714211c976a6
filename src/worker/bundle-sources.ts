import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type WorkflowBundle } from '@temporalio/worker';

const src = fileURLToPath(new URL('..', import.meta.url));

/** What a bundle is made of, beside the SDK: what workflow code may import. */
const bundledParts = ['errors.ts', 'identity', 'workflows'];

/** Beside the installed packages, whose versions are part of what it holds; it goes when they are installed anew. */
const cache = join(src, '..', 'node_modules', '.cache', 'onefold');

/**
 * Bundles the workflows from their sources, for whoever works on Onefold itself: each process of a test run needs the
 * bundle, and making it takes seconds. It is kept under a hash of what went into it.
 */
export async function bundleSources(): Promise<{ readonly codePath: string } | WorkflowBundle> {
  const codePath = join(cache, `workflow-bundle-${hashOfSources()}.js`);
  if (existsSync(codePath)) return { codePath };
  const bundle = await bundleWorkflowCode({
    workflowsPath: join(src, 'workflows', `index.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`),
    logger: { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} },
  });
  try {
    mkdirSync(cache, { recursive: true });
    // Another process may be reading or making the same: a name is taken only by a whole file.
    const written = `${codePath}.${randomUUID()}`;
    writeFileSync(written, bundle.code);
    renameSync(written, codePath);
    return { codePath };
  } catch {
    // A folder that cannot be written to is no reason not to run.
    return bundle;
  }
}

function hashOfSources(): string {
  const hash = createHash('sha256');
  const files = bundledParts.flatMap((part) => filesBelow(join(src, part))).sort();
  const lock = join(src, '..', 'package-lock.json');
  for (const file of existsSync(lock) ? [...files, lock] : files) {
    hash
      .update(`${relative(src, file)}\0`)
      .update(readFileSync(file))
      .update('\0');
  }
  return hash.digest('hex').slice(0, 16);
}

function filesBelow(path: string): string[] {
  if (path.endsWith('.ts')) return existsSync(path) ? [path] : [];
  return readdirSync(path, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

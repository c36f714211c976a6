import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** The file that says from what dist was built. */
const stampName = '.built';

/** Whatever the build reads beside `src`: a change in any asks for a new one. */
const otherInputs = ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'scripts/build.mjs'];

/** A digest of all that the build reads. By content: after a checkout, times say nothing. */
function inputDigest(root) {
  const hash = createHash('sha256');
  const sources = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)))
    .sort();
  for (const file of [...otherInputs, ...sources]) {
    const content = readFileSync(join(root, file));
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

/** Whether dist was built from the sources as they are. */
export function isBuilt(root) {
  try {
    return readFileSync(join(root, 'dist', stampName), 'utf8') === inputDigest(root);
  } catch {
    return false;
  }
}

/** Takes the digest before a build; the function that it returns writes it into the finished folder. */
export function stampBuild(root) {
  const digest = inputDigest(root);
  return (folder) => writeFileSync(join(folder, stampName), digest);
}

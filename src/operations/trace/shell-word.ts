/** A word as a POSIX shell takes it: quoted where it holds more than what no shell reads. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

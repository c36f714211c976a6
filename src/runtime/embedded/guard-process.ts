import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/** Seconds that a guarded process has for an orderly end before it is killed. */
const patienceSeconds = 30;

/**
 * Waits for a line or the end of its input. The end without a line means that the parent is gone, however it went:
 * even `kill -9` closes its side of the pipe.
 */
const guardScript = `
read -r released && exit 0
kill -s "$2" "$1" 2>/dev/null || exit 0
waited=0
while kill -0 "$1" 2>/dev/null; do
  [ "$waited" -lt ${patienceSeconds} ] || { kill -s KILL "$1"; exit 0; }
  sleep 1
  waited=$((waited + 1))
done`;

/** What ends the guard's watch. */
export interface Guard {
  /** The process has ended, or shall outlive this one: the guard goes without touching it. */
  release(): void;
}

/**
 * Ends another process when this one is gone, also after `kill -9`, so that no server is left behind.
 *
 * @param pid The process to end.
 * @param signal What asks it for an orderly end.
 */
export function guardProcess(pid: number, signal: 'SIGINT' | 'SIGTERM'): Guard {
  // In a session of its own, out of reach of a terminal's Ctrl-C; in `/`, so that it pins no folder.
  const guard = spawn('/bin/sh', ['-c', guardScript, 'onefold-guard', String(pid), signal.slice('SIG'.length)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
  });
  // Without a shell there is no guard, and a leftover server is found by its record on the next start.
  guard.on('error', () => {});
  guard.stdin.on('error', () => {});
  guard.unref();
  (guard.stdin as unknown as Socket).unref();
  return { release: () => void guard.stdin.end('released\n') };
}

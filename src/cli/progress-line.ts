/** How far a long command has come, while it runs: what it came to is the answer's, on standard output. */
export interface ProgressLine {
  show(text: string): void;
  /** Takes the line away again. */
  close(): void;
}

/** Between two lines where the stream is no terminal, ms. */
const lineEveryMs = 2_000;

/** One line that is written over on a terminal, else one every few seconds. */
export function progressOn(stream: NodeJS.WriteStream): ProgressLine {
  let writtenAt = performance.now();
  return {
    show(text) {
      if (stream.isTTY) {
        // Erased to the end of the line, which may have been longer.
        stream.write(`\r${text} \x1b[K`);
      } else if (performance.now() - writtenAt >= lineEveryMs) {
        writtenAt = performance.now();
        stream.write(`${text}\n`);
      }
    },
    close() {
      if (stream.isTTY) stream.write('\r\x1b[K');
    },
  };
}

/** Cells of a bar, so that a line with it and some counts fits into eighty columns. */
const barCells = 20;

/** Draws which part of a whole is done: `[#####···············]  25 %`. */
export function bar(done: number, of: number): string {
  const part = of === 0 ? 1 : Math.min(1, done / of);
  const cells = Math.floor(part * barCells);
  const percent = String(Math.floor(part * 100)).padStart(3);
  return `[${'#'.repeat(cells)}${'·'.repeat(barCells - cells)}] ${percent} %`;
}

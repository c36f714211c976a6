import { createHash } from 'node:crypto';
import { cutText } from '../../identity/cut-text.js';

/** Read of a response's body, at most: the decision needs the status alone, and the body is for people to look at. */
export const bodyLimitBytes = 16 * 1024;

/** Characters of it that the history keeps. */
export const bodyTextLimit = 2_048;

/** The beginning of a response's body, as it comes in. Bytes are kept as they came: an encoding is not undone. */
export class ResponseBody {
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;
  #whole = false;

  /** @returns False where there is more than is read, so that no more need come. */
  take(chunk: Uint8Array): boolean {
    const fitting = chunk.subarray(0, bodyLimitBytes - this.#bytes);
    // A copy, since undici's chunk is a window on a buffer of the whole socket.
    this.#chunks.push(Uint8Array.from(fitting));
    this.#bytes += fitting.length;
    return fitting.length === chunk.length;
  }

  /** Says that the body has come to its end. */
  end(): void {
    this.#whole = true;
  }

  summary(): { readonly bytes: number; readonly digest: string; readonly text: string; readonly truncated: boolean } {
    const body = Buffer.concat(this.#chunks);
    const text = body.toString('utf8');
    return {
      bytes: body.length,
      digest: createHash('sha256').update(body).digest('hex'),
      text: cutText(text, bodyTextLimit),
      truncated: !this.#whole || text.length > bodyTextLimit,
    };
  }
}

/**
 * Tells whether JSON nests arrays and objects deeper than the limit, without recursion and before anything is parsed:
 * `JSON.parse` takes 100,000 levels, and whatever walks the result afterwards dies of them.
 *
 * @param json The bytes of the text. Those of brackets, quotes and backslashes are never part of another UTF-8
 *   character.
 */
export function exceedsDepth(json: Uint8Array, limit: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (inString) {
      if (byte === backslash) at++;
      else if (byte === quote) inString = false;
    } else if (byte === quote) {
      inString = true;
    } else if (byte === openBracket || byte === openBrace) {
      if (++depth > limit) return true;
    } else if (byte === closeBracket || byte === closeBrace) {
      depth--;
    }
  }
  return false;
}

const quote = 0x22;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
